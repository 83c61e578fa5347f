"""Serves a model on a port of the machine's choice, with llama.cpp's own HTTP server: server.py MODEL CONTEXT SLOTS [GRAMMAR]"""

import os
import sys
import threading

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
import xllamacpp  # noqa: E402

model, context, slots, *grammar = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.port = 0
params.n_ctx = int(context)
params.n_parallel = int(slots)
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count()
params.sampling.temp = 0.0
params.sampling.seed = 1
if grammar:
    params.sampling.grammar.type = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
    params.sampling.grammar.grammar = grammar[0]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
