/* What the files about graphs and their plans have in common.
 *
 * A Graph and what refers to it can be in a cycle with the tags that a user gives to nodes, so these types take part in
 * garbage collection. Planning runs without the GIL; a graph that is being planned takes no new nodes (`planning`), and
 * a plan knows the nodes that were there when it was made (`count`). */
#ifndef TEGULA_PYTHON_GRAPH_H
#define TEGULA_PYTHON_GRAPH_H

#include "core.h"

#include <tegula/graph_ops.h>
#include <tegula/memory.h>

enum { GRAPH_KINDS = 64 }; /* more than the library has */

/* tegula.Graph */
typedef struct core_graph {
    PyObject_HEAD
    PyObject  *weakrefs;
    PyObject  *name; /* str, of the HLO module */
    PyObject  *hlo;  /* the module that it was read from; NULL */
    PyObject  *origin; /* the Graph that this is a copy of, whose nodes have the same numbers; NULL */
    tg_graph  *graph;
    PyObject **tags; /* of each node; NULL: None */
    int64_t    room; /* for tags */
    int32_t    planning;
} core_graph;

/* tegula.GraphNode: a place in a graph. */
typedef struct core_node {
    PyObject_HEAD
    core_graph *graph;
    int64_t     id;
} core_node;

/* tegula.GraphPlan */
typedef struct core_graph_plan {
    PyObject_HEAD
    PyObject      *weakrefs;
    core_graph    *graph;
    tg_graph_plan *plan;
    tg_graph_plan *relayed; /* of an infeasible graph: with restickified reductions, if that helps; else NULL */
    int64_t        count;   /* nodes when it was made */
    tg_memory     *memory;  /* NULL: nobody has asked yet */
    tg_arrangement  *arrangements; /* of all nodes; NULL: not planned for the formats of the device */
    tg_memory_params params;
} core_graph_plan;

/* ---- py_graph.c ---- */

/* The node that an int, a GraphNode or a name means, below count. 0, or -1. */
int graph_get_node(int64_t *id, core_graph *self, PyObject *object, int64_t count);

PyObject *graph_node(core_state *state, core_graph *graph, int64_t id); /* tegula.GraphNode */

/* The same nodes, with their tags. NULL with an exception. */
core_graph *graph_copy(core_graph *self);

/* A type for records, under its name in the module. */
int graph_add_record(PyObject *module, PyObject **slot, PyStructSequence_Desc *desc);
/* A record of these values; takes the references, any of which may be NULL. */
PyObject *graph_record(PyObject *type, int n, PyObject **values);

/* Pickling is refused: __reduce__ of all of them. */
PyObject *graph_reduce(PyObject *self, PyObject *none);

/* ---- py_graph_node.c ---- */

int graph_add_nodes(PyObject *module);

/* ---- py_graph_add.c ---- */

/* A node, or (node, terms[, offset]); PyMem_Free(out->terms). 0, or -1. */
int graph_read_access(tg_access *out, core_graph *self, PyObject *object);

PyObject *graph_add_input(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- py_graph_ops.c ---- */

PyObject *graph_pointwise(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_reduction(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_matmul(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_concatenate(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_output(PyObject *self, PyObject *operand);
PyObject *graph_add_loop(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_outputs(PyObject *self, void *none);
PyObject *graph_loops(PyObject *self, void *none);

/* What most nodes are told by name. Texts belong to the arguments. */
typedef struct node_words {
    PyObject   *shape, *strides, *dtype, *device_dtype, *no_stick, *no_split, *splits, *tiles, *pins, *layout, *tag;
    const char *name, *opcode, *variant, *reason;
    Py_ssize_t  name_len, opcode_len, variant_len, reason_len;
    long long   times;
    tg_split    wished[TG_MAX_LOOPS], tiled[TG_MAX_LOOPS], pinned[TG_MAX_LOOPS]; /* what is read of them */
    tg_spyre    wanted;
} node_words;

/* All of tg_node that the words say, which live as long as the words do; `usual` is the dtype where none is said.
 * Without a shape host.ndim is -1. */
int graph_read_words(tg_node *out, core_graph *self, node_words *w, tg_dtype usual);

/* {loop: slices}, at most TG_MAX_LOOPS of them; `what` they are called: splits. 0, or -1. */
int graph_read_splits(tg_split *out, int32_t *n, core_state *state, PyObject *object, const char *what);

/* ---- py_graph_window.c ---- */

/* 0, or -1. */
int       graph_read_windows(tg_window out[TG_MAX_NDIM], int32_t *n, core_state *state, PyObject *object);
PyObject *graph_windows(const tg_node_info *info); /* a new tuple of tuples, which graph_read_windows reads */

/* For PyArg_ParseTupleAndKeywords: their names, format and places. */
#define NODE_WORD_NAMES                                                                                                \
    "shape", "strides", "dtype", "device_dtype", "no_stick", "no_split", "name", "opcode", "tag", "splits", "tiles",   \
        "pins", "layout", "variant", "reason", "times", NULL
#define NODE_WORD_FORMAT "OOOOOOz#z#OOOOOz#z#L"
#define NODE_WORDS_OF(w)                                                                                               \
    &(w).shape, &(w).strides, &(w).dtype, &(w).device_dtype, &(w).no_stick, &(w).no_split, &(w).name, &(w).name_len,   \
        &(w).opcode, &(w).opcode_len, &(w).tag, &(w).splits, &(w).tiles, &(w).pins, &(w).layout, &(w).variant,         \
        &(w).variant_len, &(w).reason, &(w).reason_len, &(w).times
int graph_read_kind(tg_node_kind *out, core_state *state, PyObject *name);
int graph_read_reduction(tg_reduction *out, core_state *state, PyObject *name);

/* Room for one more node and its tag; refuses while the graph is being planned. No Python code may run between this and
 * graph_added. */
int       graph_make_room(core_graph *self);
PyObject *graph_added(core_graph *self, tg_status s, const tg_error *err, int64_t id, PyObject *tag);

/* ---- py_graph_plan.c ---- */

/* Of Graph.plan and tegula.plan, for their signatures. */
#define GRAPH_PLAN_WORDS                                                                                               \
    "*, model='tegula', method='exact', width=0, cores=0, max_branches=0, keep_unit_dims=False,\n"                     \
    "     restickify_reductions=False, device_formats=False, release='2026-08', solver='exact', lx_fraction=None"

PyObject *graph_plan(PyObject *self, PyObject *args, PyObject *kwargs);
int       graph_add_plans(PyObject *module);

/* ---- py_graph_report.c: what a plan lists ---- */

PyObject *plan_layout(core_graph_plan *self, int64_t node, const tg_spyre *layout); /* tegula.Layout */
PyObject *plan_division(core_graph_plan *self, int64_t node, const tg_division_params *params);
PyObject *plan_restickifies(PyObject *self, void *none);
PyObject *plan_paddings(PyObject *self, void *none);
PyObject *plan_conflict(PyObject *self, void *none);
int       graph_add_plan_records(PyObject *module);

/* ---- py_graph_access.c ---- */

PyObject *plan_operand_layout(PyObject *self, PyObject *args);
PyObject *plan_coordinates(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- py_graph_words.c ---- */

PyObject *plan_run(PyObject *self, PyObject *args, PyObject *kwargs); /* py_sim.c */
PyObject *plan_complaint(core_graph_plan *self); /* why there is none, without the last line end */
PyObject *plan_report(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *plan_str(PyObject *self);
PyObject *plan_explain(PyObject *self, PyObject *node);
PyObject *plan_to_dict(PyObject *self, PyObject *none);
PyObject *plan_load_json(PyObject *text); /* json.loads */

/* ---- py_graph_memory.c ---- */

PyObject *plan_memory(PyObject *self, void *none);
int       graph_add_memory(PyObject *module);
/* pre: plan_is_current. NULL with an exception. */
const tg_memory *plan_memory_of(core_graph_plan *self);
/* Is it feasible, and the graph still the one of the plan? False with an exception that names what there is none of. */
bool plan_is_current(core_graph_plan *self, const char *what);

/* ---- py_graph_bundle.c ---- */

PyObject *plan_bundle(PyObject *self, PyObject *none);
int       graph_add_bundles(PyObject *module);

static inline core_graph *graph_of(PyObject *object) { return (core_graph *)object; }
static inline core_graph_plan *graph_plan_of(PyObject *object) { return (core_graph_plan *)object; }

#endif
