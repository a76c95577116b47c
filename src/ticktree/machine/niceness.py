"""How far what is ours stands back behind the program, where both want the same core: `os.nice` of each."""

# It ends the run as soon as the program is over.
SUPERVISOR = 5
# What only looks at a run, whoever asks for it: nobody waits for one look.
ONLOOKER = 10
