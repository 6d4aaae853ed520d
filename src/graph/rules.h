/* What each kind of node asks of layouts: the table of rules.c, and the ways to follow it. */
#ifndef TG_GRAPH_RULES_H
#define TG_GRAPH_RULES_H

#include "graph/coordinate.h"
#include "graph/model.h"

enum { TG_NO_LOOP = -1 };

/* What an operand is asked for. */
typedef enum tg_operand_rule {
    TG_ANY,   /* nothing */
    TG_AGREE, /* the loop that the node has in its sticks; if the operand does not have it, none */
    TG_ROLES  /* a loop of its own role */
} tg_operand_rule;

/* Which loops the sticks of the result may have. */
typedef enum tg_source {
    TG_FROM_OPERANDS = 1, /* those that some operand has in its sticks */
    TG_OTHERS = 2,        /* those of other dimensions; for torch-spyre only such as whole sticks fill */
    TG_FROM_ROLES = 4,    /* those that the roles say */
    TG_FREE = 8,          /* all */
    TG_DEFAULT_LAYOUT = 16 /* the default layout, nothing else */
} tg_source;

typedef struct tg_rule {
    tg_node_kind    kind;
    tg_operand_rule operands;
    uint32_t        sticks;    /* tg_source bits */
    bool            restickify; /* operands may be restickified */
    const char     *words;
} tg_rule;

/* One way to work: the loop in the sticks of the result, and what that means for operands 0 and 1. */
typedef struct tg_mode_row {
    int32_t  loop;    /* TG_NO_LOOP: one element a stick, or none in question */
    int32_t  role[2]; /* for TG_ROLES */
    uint32_t layout;  /* of the result: place among the node's candidates */
} tg_mode_row;

/* The rule that a node follows under a model; a product without columns follows another than its kind. */
const tg_rule *tg_rule_of(tg_rule *room, const tg_graph *g, const tg_node_row *n, const tg_graph_params *params);

/* What operand k must have in its sticks: a loop, TG_NO_LOOP for none, TG_ANY_LOOP for anything. */
enum { TG_ANY_LOOP = -2 };
int32_t tg_wanted_loop(const tg_rule *rule, const tg_graph *g, const tg_node_row *n, const tg_mode_row *mode,
                       int32_t k);

/* Is every dimension of a tensor walked, in part at least? Then the one in its sticks is, too. */
bool tg_walks_all(const tg_host *host, const int64_t *ranges, const tg_access *access);

/* Has the result of a node a loop in its sticks, whatever is chosen? pre: that is known of its operands. */
bool tg_always_in_sticks(const tg_graph *g, const tg_node_row *n);

/* Operand k of a product needs zeros behind the last step of a loop that the other one has in its sticks, and there is
 * no room for any: the loop walks a part of a dimension. */
bool tg_lacks_fill(const tg_rule *rule, const tg_graph *g, const tg_node_row *n, const tg_mode_row *mode, int32_t k);

/* Loops that an access has. */
uint32_t tg_access_loops(const tg_access *a);
bool     tg_access_has_unknown(const tg_access *a);

/* Elements of a stick of its tensor; 1 of one that is not on the device. */
int64_t tg_node_stick(const tg_node_row *n);

/* The host dimension that loop l walks alone in an access, from its first element on; -1 if there is none. */
int32_t tg_host_dim(const tg_host *host, const int64_t *ranges, const tg_access *access, int32_t loop);

/* The host dimension that goes on behind the last step of loop l: it walks that alone, from the first element on and
 * once; -1 if there is none, and what is behind belongs to somebody else. */
int32_t tg_filled_dim(const tg_host *host, const int64_t *ranges, const tg_access *access, int32_t loop);

/* The host dimension whose elements loop l walks one after the other, maybe with other loops further out; -1 if there
 * is none. */
int32_t tg_walked_dim(const tg_host *host, const tg_access *access, int32_t loop);

/* The host dimensions that the data picks, as bits. */
uint32_t tg_unknown_dims(const tg_host *host, const int64_t *ranges, const tg_access *access);

/* The modes of a node, without their layouts; at most `cap`. in_sticks: loops that operands may have in their sticks;
 * stickless: some operand may have none, though it has loops. */
enum { TG_MAX_MODES_OF_NODE = TG_MAX_LOOPS * 2 };
int32_t tg_list_modes(tg_mode_row *out, const tg_rule *rule, const tg_graph *g, const tg_node_row *n,
                      const tg_graph_params *params, uint32_t in_sticks, bool stickless);

#endif
