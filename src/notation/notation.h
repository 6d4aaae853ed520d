/* Private to the notation room: what its files share. A notation never includes another one. */
#ifndef TG_NOTATION_NOTATION_H
#define TG_NOTATION_NOTATION_H

#include "base/text.h"
#include "layout/layout.h"

#endif
