/* Filling tg_error: messages are built from pieces, without stdio and so without a locale. */
#ifndef TG_BASE_ERROR_H
#define TG_BASE_ERROR_H

#include <tegula/tegula.h>

/* For compilers: who calls it has gone off the common path. */
#define TG_COLD __attribute__((cold))

/* Fills *err (NULL is allowed) and returns status. The format knows these directives only:
 *   %d int64_t   %s const char *   %t (const char *, size_t) text, shortened if long
 *   %v (const int64_t *, int32_t) a list "[1,2,3]"   %% a percent sign
 * A message that does not fit is cut at the end. */
TG_COLD tg_status tg_fail(tg_error *err, tg_status status, const char *format, ...);

/* The same with the dimension or mode at fault. */
TG_COLD tg_status tg_fail_dim(tg_error *err, tg_status status, int32_t dim, const char *format, ...);

/* TG_ERR_PARSE at byte position pos of the text. */
tg_status tg_fail_at(tg_error *err, size_t pos, const char *format, ...);

#endif
