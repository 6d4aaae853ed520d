/* Moving the stick of a layout to another dimension of the host tensor. */
#ifndef TG_GRAPH_RESTICKIFY_H
#define TG_GRAPH_RESTICKIFY_H

#include <tegula/graph.h>

/* The access that reads dimension d in loop d. */
tg_access tg_identity_access(tg_term terms[TG_MAX_NDIM], const tg_host *host);

/* The host dimension that runs inside the sticks; -1 if none does, or none alone. */
int32_t tg_stick_dim(const tg_spyre *layout, const tg_host *host);

/* tg_spyre_restickify without words; false where it fails. */
bool tg_restickify_to(tg_spyre *out, const tg_spyre *from, const tg_host *host, int32_t dim);

/* Elements of storage, padding included; false if they do not fit. */
bool tg_storage_elements(int64_t *out, const tg_spyre *layout);

/* The layout in which data can pick rows: the dimensions of `indexed` outermost, the stick on dim. */
bool tg_gather_layout(tg_spyre *out, const tg_host *host, tg_format format, uint32_t indexed, int32_t dim);

#endif
