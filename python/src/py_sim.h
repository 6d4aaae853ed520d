/* tegula.Simulator, and what it is told of its nodes. */
#ifndef TEGULA_PYTHON_SIM_H
#define TEGULA_PYTHON_SIM_H

#include "py_graph.h"

#include <tegula/sim.h>

/* Tell the program what nodes calculate: a mapping of nodes to operations. 0, or -1. */
int sim_read_program(tg_program *program, core_graph *graph, PyObject *calculations);

#endif
