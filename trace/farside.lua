-- SPDX-License-Identifier: MIT
-- Wireshark's view of traces of NTB links (docs/reference/trace.md):
--
--   tshark -X lua_script:trace/farside.lua -r TRACE.pcapng
--
-- or put this script into Wireshark's folder for personal Lua plugins.

local farside = Proto("farside", "Farside NTB link")

local kinds = {
    "TLP", "Start", "Stop", "State", "Enable", "Reset", "Doorbell", "Message",
    "Lock", "Locked", "Config", "Configured", "Release", "RAM", "Arrival",
    "Register",
}

-- Fmt and Type, PCIe 5.0 table 2-3
local types = {
    [0x00] = "MRd", [0x20] = "MRd", [0x40] = "MWr", [0x60] = "MWr",
    [0x0a] = "Cpl", [0x4a] = "CplD",
}

local arrived = {"MWr", "Completion", "Doorbell", "Message"}

local chips = {[0] = "Switchtec", [1] = "AMD", [2] = "Intel",
    [3] = "endpoint function", [8] = "IDT", [255] = "none"}

local accesses = {"Read", "Write", "Answer"}

-- PCIe 5.0 table 2-34
local statuses = {[0] = "SC", [1] = "UR", [2] = "CRS", [4] = "CA"}

local f = {
    version = ProtoField.uint8("farside.version", "Version"),
    kind = ProtoField.uint8("farside.kind", "Kind", base.DEC, kinds),
    partition = ProtoField.uint8("farside.partition", "Partition"),
    bar = ProtoField.uint8("farside.bar", "BAR"),
    sequence = ProtoField.uint32("farside.sequence", "Sequence number"),
    transaction = ProtoField.uint32("farside.transaction", "Transaction"),
    near = ProtoField.uint64("farside.near", "Near address", base.HEX),
    offset = ProtoField.uint64("farside.offset", "Offset in the BAR", base.HEX),
    chip = ProtoField.uint16("farside.chip", "Chip", base.DEC, chips),
    up = ProtoField.bool("farside.up", "Up"),
    lock = ProtoField.uint32("farside.lock", "Lock"),
    bits = ProtoField.uint64("farside.bits", "Doorbell bits", base.HEX),
    index = ProtoField.uint32("farside.message", "Message"),
    value = ProtoField.uint32("farside.value", "Value", base.HEX),
    body = ProtoField.bytes("farside.body", "Body"),
    arrived = ProtoField.uint32("farside.arrived", "Arrived", base.DEC, arrived),
    bytes = ProtoField.uint32("farside.bytes", "Bytes"),
    far = ProtoField.uint64("farside.far", "Address or bits", base.HEX),
    access = ProtoField.uint32("farside.access", "Access", base.DEC, accesses),
    register = ProtoField.uint64("farside.register", "Register or status",
                                 base.HEX),
    content = ProtoField.uint64("farside.content", "Content", base.HEX),
    type = ProtoField.uint8("farside.tlp.type", "Fmt and Type", base.HEX, types),
    length = ProtoField.uint16("farside.tlp.length", "Length in DW"),
    requester = ProtoField.string("farside.tlp.requester", "Requester ID"),
    completer = ProtoField.string("farside.tlp.completer", "Completer ID"),
    tag = ProtoField.uint8("farside.tlp.tag", "Tag"),
    last_be = ProtoField.uint8("farside.tlp.last_be", "Last DW byte enables",
                               base.HEX, nil, 0xf0),
    first_be = ProtoField.uint8("farside.tlp.first_be", "First DW byte enables",
                                base.HEX, nil, 0x0f),
    address = ProtoField.uint64("farside.tlp.address", "Address", base.HEX),
    status = ProtoField.uint8("farside.tlp.status", "Status", base.DEC,
                              statuses, 0xe0),
    count = ProtoField.uint16("farside.tlp.count", "Byte count"),
    lower = ProtoField.uint8("farside.tlp.lower", "Lower address", base.HEX),
    payload = ProtoField.bytes("farside.tlp.payload", "Payload"),
    request = ProtoField.framenum("farside.tlp.request", "Request in",
                                  base.NONE, frametype.REQUEST),
    latency = ProtoField.relative_time("farside.tlp.latency",
                                       "Time since the request"),
}
farside.fields = f

local interface_id = Field.new("frame.interface_id")

-- reads: the last read of each link, end and transaction. answers: the read that
-- each completion answers, by the number of the completion's frame.
local reads
local answers

function farside.init()
    reads = {}
    answers = {}
end

local function id_text(range)
    local id = range:uint()
    return string.format("%02x:%02x.%x", bit.rshift(id, 8),
                         bit.band(bit.rshift(id, 3), 0x1f), bit.band(id, 7))
end

local function hex_text(number)
    return "0x" .. number:tohex():lower():gsub("^0+(.)", "%1")
end

local function payload(tlp, tree, from)
    if tlp:len() > from then
        tree:add(f.payload, tlp(from))
    end
end

local function request(tlp, tree, info)
    local is_long = bit.band(tlp(0, 1):uint(), 0x20) ~= 0
    local size = is_long and 16 or 12
    local address = is_long and tlp(8, 8) or tlp(8, 4)
    local id = id_text(tlp(4, 2))
    local number = address:uint64()

    tree:add(f.requester, tlp(4, 2), id)
    tree:add(f.tag, tlp(6, 1))
    tree:add(f.last_be, tlp(7, 1))
    tree:add(f.first_be, tlp(7, 1))
    tree:add(f.address, address, number)
    payload(tlp, tree, size)
    info[#info + 1] = string.format("%s %u DW %s", hex_text(number),
                                    tlp(2, 2):uint() % 1024, id)
end

local function completion(tlp, tree, info)
    local status = bit.rshift(tlp(6, 1):uint(), 5)

    tree:add(f.completer, tlp(4, 2), id_text(tlp(4, 2)))
    tree:add(f.status, tlp(6, 1))
    tree:add(f.count, tlp(6, 2), bit.band(tlp(6, 2):uint(), 0xfff))
    tree:add(f.requester, tlp(8, 2), id_text(tlp(8, 2)))
    tree:add(f.tag, tlp(10, 1))
    tree:add(f.lower, tlp(11, 1))
    payload(tlp, tree, 12)
    info[#info + 1] = string.format("%s tag %u %s", id_text(tlp(8, 2)),
                                    tlp(10, 1):uint(), statuses[status] or "?")
end

-- Joins a completion to its read, which the other end of the link transmits.
local function join(pinfo, tree, is_read, partition, transaction)
    local interface = interface_id()
    local link = interface and math.floor(interface.value / 2) or 0
    local end_ = is_read and partition or 1 - partition
    local key = string.format("%u/%u/%u", link, end_, transaction)

    if is_read then
        if not pinfo.visited then
            reads[key] = {pinfo.number, pinfo.rel_ts}
        end
        return
    end
    if not pinfo.visited then
        answers[pinfo.number] = reads[key]
    end
    local read = answers[pinfo.number]
    if read then
        tree:add(f.request, read[1]):set_generated()
        local ns = math.floor((pinfo.rel_ts - read[2]) * 1e9 + 0.5)
        tree:add(f.latency, NSTime(math.floor(ns / 1e9), ns % 1e9))
            :set_generated()
    end
end

-- Messages without a TLP: for each kind, its fields and their sizes in bytes.
local bodies = {
    [2] = {{f.up, 4}, {f.chip, 2}, {f.requester, 2}},
    [4] = {{f.up, 4}},
    [5] = {{f.up, 4}},
    [7] = {{f.bits, 8}},
    [8] = {{f.index, 4}, {f.value, 4}},
    [9] = {{f.lock, 4}},
    [10] = {{f.lock, 4}},
    [11] = {{f.lock, 4}},
    [12] = {{f.lock, 4}},
    [13] = {{f.lock, 4}},
    [15] = {{f.arrived, 4}, {f.bytes, 4}, {f.far, 8}},
    [16] = {{f.access, 4}, {f.bytes, 4}, {f.register, 8}, {f.content, 8}},
}

local function other(body, tree, kind)
    local at = 0

    for _, field in ipairs(bodies[kind] or {}) do
        if field[1] == f.requester then
            tree:add(f.requester, body(at, 2), id_text(body(at, 2)))
        else
            tree:add(field[1], body(at, field[2]))
        end
        at = at + field[2]
    end
    if body:len() > at then
        tree:add(f.body, body(at))
    end
end

function farside.dissector(tvb, pinfo, root)
    if tvb:len() < 32 or tvb(0, 2):uint() ~= 0x4653 or tvb(2, 1):uint() ~= 1
    then
        return 0
    end
    local size = tvb(3, 1):uint()
    local kind = tvb(4, 1):uint()
    local partition = tvb(6, 1):uint()
    local tree = root:add(farside, tvb())
    local name = kinds[kind] or "?"
    local info = {}

    tree:add(f.version, tvb(2, 1))
    tree:add(f.kind, tvb(4, 1))
    tree:add(f.partition, tvb(6, 1))
    tree:add(f.sequence, tvb(8, 4))
    if bit.band(tvb(5, 1):uint(), 1) ~= 0 then
        tree:add(f.bar, tvb(7, 1))
        tree:add(f.near, tvb(16, 8))
        tree:add(f.offset, tvb(24, 8))
        info[1] = hex_text(tvb(16, 8):uint64()) .. " ->"
    end
    if tvb:len() > size then
        local body = tvb(size):tvb()

        if kind ~= 1 then
            other(body, tree, kind)
        elseif body:len() >= 12 then
            local fmt_type = body(0, 1):uint()
            local is_completion = bit.band(fmt_type, 0x1f) == 0x0a
            local sub = tree:add(body(), "Transaction Layer Packet")

            name = types[fmt_type] or "TLP"
            sub:add(f.type, body(0, 1))
            sub:add(f.length, body(2, 2), bit.band(body(2, 2):uint(), 0x3ff))
            tree:add(f.transaction, tvb(12, 4))
            if is_completion then
                completion(body, sub, info)
            elseif types[fmt_type] then
                request(body, sub, info)
            end
            if is_completion or name == "MRd" then
                join(pinfo, sub, name == "MRd", partition, tvb(12, 4):uint())
            end
        end
    end
    pinfo.cols.protocol = "Farside"
    pinfo.cols.info = name .. " " .. table.concat(info, " ")
    return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, farside)
