/* The answer about a view: is it there, is it free, what would a naive reader get. */
#include "transfer/read_rule.h"
#include "transfer/viewing.h"

#include "base/text.h"

#include <string.h>

/* ---- expressions ---- */

/* The coordinate of one digit with its terms simplified; offset is what is left besides them. */
static void simplify(tg_view_coordinate *out, const tg_view_coordinate *raw, const tg_view *view) {
    int64_t constant = raw->offset; /* at 0 */
    out->mode = raw->mode;
    out->stride = raw->stride;
    out->nterms = 0;
    for (int32_t i = 0; i < raw->nterms; i++) {
        tg_view_term term = raw->term[i];
        int64_t      ignored = 0;
        if (tg_term_simplify(&term, &ignored, view->shape[term.dim])) out->term[out->nterms++] = term;
    }
    for (int32_t i = 0; i < out->nterms; i++) constant -= tg_term_at(&out->term[i], 0);
    out->offset = constant;
}

static int32_t place_of(const tg_digit_list *digits, int32_t mode) {
    for (int32_t i = 0; i < digits->n; i++)
        if (digits->at[i].mode == mode && digits->at[i].stride != 0) return i;
    return -1;
}

/* Device dimensions in the order of the layout's memory. A mode without a digit is at 0; one that is joined into
 * another is not listed. */
static void list_modes(tg_view_answer *out, const tg_digit_cut *cut, const tg_digit_list *all,
                       const tg_digit_list *digits, const tg_layout *layout, const tg_view *view) {
    for (int32_t m = 0; m < layout->nmodes; m++) {
        if (!tg_is_memory(&layout->mode[m])) continue;
        const int32_t       i = place_of(digits, m);
        tg_view_coordinate *c = &out->device[out->ndevice];
        if (i < 0 && place_of(all, m) >= 0) continue;
        memset(c, 0, sizeof *c);
        c->mode = m;
        c->stride = layout->mode[m].stride;
        if (i >= 0) simplify(c, &cut->at[i], view);
        if (i >= 0 && digits->at[i].joined) c->mode = -1;
        out->ndevice++;
    }
}

static void list_device(tg_view_answer *out, const tg_digit_cut *cut, const tg_storage *storage,
                        const tg_digit_list *digits, const tg_desc *tensor, const tg_view *view) {
    out->ndevice = 0;
    out->joined = digits->n < storage->digits.n;
    out->offset = storage->device_base;
    if (tensor->notation != TG_NOTATION_STRIDED) {
        list_modes(out, cut, &storage->digits, digits, &tensor->layout, view);
        return;
    }
    out->ndevice = 1;
    simplify(&out->device[0], &cut->at[0], view);
    out->device[0].offset += out->offset; /* all of memory is one dimension */
    out->offset = 0;
}

int64_t tg_view_device_offset(const tg_view_answer *answer, const int64_t *coord) {
    int64_t offset = answer->offset;
    for (int32_t i = 0; i < answer->ndevice; i++) {
        const tg_view_coordinate *c = &answer->device[i];
        int64_t                   q = c->offset;
        for (int32_t t = 0; t < c->nterms; t++) q += tg_term_at(&c->term[t], coord[c->term[t].dim]);
        offset += q * c->stride;
    }
    return offset;
}

/* ---- sticks ---- */

static int64_t stick_of(const tg_desc *tensor) {
    if (tensor->notation != TG_NOTATION_SPYRE) return 0;
    return tensor->spyre.device_size[tensor->spyre.rank - 1];
}

static void judge_stick(tg_view_answer *out, int64_t stick) {
    const tg_view_coordinate *c = NULL;
    out->stick_dim = -1;
    out->stick = TG_STICK_NONE;
    for (int32_t i = 0; i < out->ndevice; i++) {
        const tg_view_coordinate *d = &out->device[i];
        if (d->stride >= stick || (d->nterms == 0 && d->offset == 0)) continue;
        if (c != NULL) out->stick = TG_STICK_BAD;
        c = d;
    }
    if (c == NULL || out->stick == TG_STICK_BAD) return;
    const tg_view_term *t = &c->term[0];
    tg_stick_place      place = {.moves = c->nterms > 0, .modulus = t->wrap, .offset = c->offset};
    place.single = c->stride == 1 && c->nterms == 1 && t->step == 1 && t->stride == 1 && t->shift == 0;
    out->stick = tg_judge_stick(&place, stick); /* without a mod it stays within the stick, because the view is free */
    if (out->stick != TG_STICK_BAD) out->stick_dim = t->dim;
}

/* ---- the verdict ---- */

static void number_of(tg_number *out, const tg_storage *storage, const tg_view *view) {
    out->x = view->offset - storage->base;
    out->ndim = view->ndim;
    for (int32_t d = 0; d < view->ndim; d++) {
        out->step[d] = view->strides[d];
        out->n[d] = view->shape[d];
    }
}

static void refuse(tg_view_answer *out, const tg_digit_cut *cut, const tg_digit_list *digits) {
    const tg_digit *d = &digits->at[cut->digit];
    out->verdict = TG_VIEW_RELAYOUT;
    out->reason = cut->reason;
    out->dims = cut->dims;
    out->mode = d->joined ? -1 : d->mode;
    out->digit = d->weight;
    out->edge = cut->edge;
}

/* With the digits as they are if that does, else with those joined that can be; joined digits can only do more. */
static void cut_view(tg_view_answer *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view) {
    tg_number     number;
    tg_digit_cut        cut;
    tg_digit_list digits = storage->digits;
    number_of(&number, storage, view);
    tg_cut_digits(&cut, &digits, &number);
    if (cut.reason != TG_VIEW_FITS) {
        tg_digits_join(&digits, stick_of(tensor));
        tg_cut_digits(&cut, &digits, &number);
    }
    if (cut.reason != TG_VIEW_FITS) {
        refuse(out, &cut, &digits);
        return;
    }
    out->verdict = TG_VIEW_FREE;
    list_device(out, &cut, storage, &digits, tensor, view);
    out->has_stick = tensor->notation == TG_NOTATION_SPYRE && tensor->spyre.arrangement == TG_STANDARD;
    if (out->has_stick) judge_stick(out, stick_of(tensor));
}

/* Nothing is read, so all is free. */
static void answer_empty(tg_view_answer *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view) {
    tg_view nothing = *view;
    nothing.ndim = 0;
    nothing.offset = storage->base;
    cut_view(out, storage, tensor, &nothing);
}

tg_status tg_view_judge(tg_view_answer *out, const tg_desc *tensor, const tg_view *view, tg_error *err) {
    tg_view_answer answer;
    tg_storage     storage;
    tg_status      s = tg_view_check(view, err);
    if (s == TG_OK) s = tg_storage_of(&storage, tensor, err);
    if (s != TG_OK) return s;
    memset(&answer, 0, sizeof answer);
    answer.ndim = view->ndim;
    answer.mode = answer.stick_dim = -1;
    if (tg_view_is_empty(view)) {
        answer_empty(&answer, &storage, tensor, view);
        *out = answer;
        return TG_OK;
    }
    if ((s = tg_storage_check(&answer, &storage, view, err)) != TG_OK) return s;
    if (answer.reason != TG_VIEW_FITS) {
        answer.verdict = TG_VIEW_IMPOSSIBLE;
    } else {
        cut_view(&answer, &storage, tensor, view);
        tg_naive_rule(&answer.rule, &storage, tensor, view);
        tg_naive_own(&answer.own, &storage, tensor, view);
    }
    *out = answer;
    return TG_OK;
}

/* ---- text ---- */

/* "2*p0 + 8" */
static void put_line(tg_writer *w, int64_t step, int32_t dim, int64_t shift) {
    if (step == -1) tg_put_char(w, '-');
    if (step != 1 && step != -1) {
        tg_put_int(w, step);
        tg_put_char(w, '*');
    }
    tg_put_char(w, 'p');
    tg_put_int(w, dim);
    if (shift == 0) return;
    tg_put_text(w, " + ");
    tg_put_int(w, shift);
}

/* "Mod(2*p0 + 8, 64)" */
static void put_number(tg_writer *w, const tg_view_term *t) {
    if (t->wrap > 0) tg_put_text(w, "Mod(");
    put_line(w, t->step, t->dim, t->shift);
    if (t->wrap == 0) return;
    tg_put_text(w, ", ");
    tg_put_int(w, t->wrap);
    tg_put_char(w, ')');
}

/* "floor((p0 + 8)/64)" */
static void put_term(tg_writer *w, const tg_view_term *t) {
    const bool sum = t->wrap == 0 && t->shift != 0;
    if (t->stride == 1) {
        put_number(w, t);
        return;
    }
    tg_put_text(w, sum ? "floor((" : "floor(");
    put_number(w, t);
    tg_put_text(w, sum ? ")/" : "/");
    tg_put_int(w, t->stride);
    tg_put_char(w, ')');
}

/* A term that can stand behind a minus: its shift is 0, being in [0, stride). */
static bool is_falling(const tg_view_term *t) { return t->step < 0 && t->wrap == 0 && t->stride == 1; }

/* "511 - p0", "p0 + floor(p1/64) + 3" */
static void put_coordinate(tg_writer *w, const tg_view_coordinate *c) {
    const bool offset_first = c->nterms == 0 || (c->offset > 0 && is_falling(&c->term[0]));
    if (offset_first) tg_put_int(w, c->offset);
    for (int32_t i = 0; i < c->nterms; i++) {
        const tg_view_term *t = &c->term[i];
        const bool          first = i == 0 && !offset_first, falls = !first && is_falling(t);
        if (!first) tg_put_text(w, falls ? " - " : " + ");
        if (falls) put_line(w, -t->step, t->dim, 0);
        else put_term(w, t);
    }
    if (offset_first || c->offset == 0) return;
    tg_put_text(w, c->offset < 0 ? " - " : " + ");
    tg_put_int(w, c->offset < 0 ? -c->offset : c->offset);
}

size_t tg_view_format_access(char *buf, size_t cap, const tg_view_answer *answer) {
    tg_writer w = tg_writer_make(buf, cap);
    if (answer->verdict != TG_VIEW_FREE) return tg_writer_end(&w);
    tg_put_char(&w, '[');
    for (int32_t i = 0; i < answer->ndevice; i++) {
        if (i > 0) tg_put_text(&w, ", ");
        put_coordinate(&w, &answer->device[i]);
    }
    tg_put_char(&w, ']');
    return tg_writer_end(&w);
}
