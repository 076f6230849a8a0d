# Make up a world: conversations, messages to answer, five systems that answer them
trubleu simulate world world --segments {segments} --seed {seed} \
    --system strong=skill:0.9 --system fair=skill:0.5 --system weak=skill:0.2 --system dull --system parrot

# Mine candidate references: what others answered to similar messages, and bad ones for contrast
trubleu mine index world/corpus.jsonl --out index
trubleu mine run index --seeds world/seeds.jsonl --top 5 --random 1 --seed {seed} --out candidates.jsonl

# Rate the candidates: simulated raters stand in for people; their ratings become weights from -1 to +1
trubleu rate new study --from candidates.jsonl --raters {raters}
trubleu simulate ratings study --world world --raters {raters} --seed {seed} --out study.csv
trubleu rate import study study.csv
trubleu rate export study --as references --out references.jsonl

# Rate the systems: other raters see the outputs of two systems at a time
trubleu rate new pairs --kind pair --from world/seeds.jsonl --outputs world/outputs/*.txt --raters {raters}
trubleu simulate ratings pairs --world world --raters {raters} --seed {next_seed} --out pairs.csv
trubleu rate import pairs pairs.csv
trubleu rate export pairs --as ratings --out ratings.csv

# Score the systems
trubleu score --refs references.jsonl world/outputs/*.txt --no-positive skip --ci

# Judge the metrics: how well do their scores agree with the ratings?
trubleu judge pairs --refs references.jsonl --ratings ratings.csv world/outputs/*.txt \
    --unit {unit} --condition all --sweeps none --report report.html --out judge.txt
