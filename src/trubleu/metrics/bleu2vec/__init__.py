"""bleu2vec (Tättar & Fishel 2017), and ΔBLEU with partial credit for similar n-grams."""
