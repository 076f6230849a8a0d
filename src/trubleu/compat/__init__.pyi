from trubleu.compat import sacrebleu as sacrebleu
