#include <tegula/tegula.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *tg_version(void) { return TEXT(TG_VERSION_MAJOR) "." TEXT(TG_VERSION_MINOR) "." TEXT(TG_VERSION_PATCH); }
