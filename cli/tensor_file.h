/* The files of `tegula relayout`: a tensor to read, and one that is made. */
#ifndef TEGULA_CLI_TENSOR_FILE_H
#define TEGULA_CLI_TENSOR_FILE_H

#include "cli.h"

#include <tegula/io.h>

typedef struct tensor_source {
    const char          *name; /* in messages */
    tg_file             *file;
    bool                 is_npy;
    tg_npy               npy;
    const unsigned char *data; /* the elements, after the header; NULL if there are none */
    int64_t              nbytes;
    bool                 goes_on; /* standard input had more than was wanted, and it was not read to its end */
} tensor_source;

typedef struct tensor_sink {
    const char    *name;
    tg_file       *file;
    bool           to_stdout;
    unsigned char *data; /* where the elements go, after the header; NULL if there are none */
} tensor_sink;

/* `-` is standard input. Open what ends in .npy, and standard input that begins so, as an .npy file. Standard input may
 * never end: it is read to what the header of an .npy file promises, or else to `most` bytes, and a little more. */
int  tensor_open(tensor_source *out, const char *path, int64_t most);
void tensor_close(tensor_source *source);

/* Room for the storage of `to`; what ends in .npy gets a header. Nothing appears before tensor_commit. `-` is
 * standard output. */
int  tensor_create(tensor_sink *out, const char *path, const tg_desc *to);
int  tensor_commit(tensor_sink *sink);
void tensor_discard(tensor_sink *sink);

#endif
