"""How fast TruBLEU is beside sacreBLEU and NLTK: ``python -m benchmarks --out FILE.json``."""
