/* The DCI object of torch-spyre as one line of JSON. Its fields are the library's (tg_dci_get_field); a long list of
 * descriptors is written part by part. */
#include "dma.h"

static json_t *plain_json(const tg_dci_field *field) {
    switch (field->kind) {
    case TG_DCI_TEXT: return cli_json_text(field->text);
    case TG_DCI_INTS: return cli_json_ints(field->values, field->n);
    default: return cli_json_int(field->value);
    }
}

static json_t *entry_json(const tg_dci *dci, tg_dma_direction direction) {
    json_t *const object = cli_json_object();
    tg_dci_field  field;
    for (int32_t i = 0; tg_dci_get_entry_field(&field, i, dci, direction); i++)
        cli_json_put(object, field.name, plain_json(&field));
    return object;
}

/* Print the entries, or only see that there is one for each descriptor. */
static int put_entries(FILE *stream, dma_program *p, bool is_trial) {
    tg_dci   dci;
    tg_error err;
    for (int status; p->n > 0;) {
        for (size_t i = 0; i < p->n; i++) {
            if (tg_dci_from_dma(&dci, &p->chunk[i], &p->desc, p->host_strides, &err) != TG_OK)
                return cli_fail_error("--dci", &err);
            if (is_trial) continue;
            if (p->first + i > 0) putc(',', stream);
            cli_put_json(stream, entry_json(&dci, p->params.direction));
        }
        if ((status = cli_next_descriptors(p)) != CLI_OK) return status;
    }
    p->first = p->n = 0; /* from the beginning again */
    return cli_next_descriptors(p);
}

static bool get_field(tg_dci_field *out, int32_t index, const dma_program *p) {
    return tg_dci_get_field(out, index, &p->desc, &p->host, p->params.direction);
}

/* Field *index, and with an object the fields in it; *index becomes the next one. */
static json_t *field_json(const dma_program *p, tg_dci_field *field, int32_t *index) {
    const int32_t end = ++*index + field->n;
    if (field->kind != TG_DCI_OBJECT) return plain_json(field);
    json_t *const object = cli_json_object();
    for (; *index < end && get_field(field, *index, p); ++*index)
        cli_json_put(object, field->name, plain_json(field));
    return object;
}

/* The fields from *index to the entries, or to the end. */
static json_t *fields_json(const dma_program *p, int32_t *index) {
    json_t *const object = cli_json_object();
    tg_dci_field  field;
    while (get_field(&field, *index, p) && field.kind != TG_DCI_ENTRIES) {
        const char *const name = field.name;
        cli_json_put(object, name, field_json(p, &field, index));
    }
    return object;
}

int cli_put_dci(FILE *stream, dma_program *p) {
    int32_t      index = 0;
    tg_dci_field entries;
    if (p->desc.notation != TG_NOTATION_SPYRE)
        return cli_fail(CLI_USAGE, "--dci", "only a Spyre layout has DCI, this one is %s",
                        tg_notation_name(p->desc.notation));
    int status = put_entries(stream, p, true);
    if (status != CLI_OK) return status;
    putc('{', stream);
    cli_put_json_members(stream, fields_json(p, &index));
    (void)get_field(&entries, index++, p);
    fprintf(stream, ",\"%s\":[", entries.name);
    status = put_entries(stream, p, false);
    if (status != CLI_OK) return status;
    fputs("],", stream);
    cli_put_json_members(stream, fields_json(p, &index));
    fputs("}\n", stream);
    return CLI_OK;
}
