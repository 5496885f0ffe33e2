# SPDX-License-Identifier: MIT
# A link's bandwidth by the size of its packets, as one would look at it in a
# notebook. Each "# %%" begins a cell in Jupyter, VS Code and Spyder.

# %% The scenarios that came with Farside
import farside

print(farside.scenarios()[:3])

# %% One of them, and the points of its sweep
scenario = farside.load("teaching/one-link.yaml")
print(scenario.name, len(scenario.points), "points, first:", scenario.points[0])

# %% One point
point = scenario.run(point=0)
print(point)

# %% All of them: lists, one for each column
columns = scenario.run(threads=2)
print(list(columns))

# %% The same with another seed
again = farside.load("teaching/one-link.yaml", {"workload.seed": 7})
print(again.run(point=0))

# %% As a data frame, if pandas is installed
try:
    print(scenario.frame(threads=2).describe())
except ImportError:
    print("pandas is not installed")

# %% A mistake has a place
try:
    farside.load("teaching/one-link.yaml", {"workload.speed": 1})
except farside.Error as error:
    print(error)
