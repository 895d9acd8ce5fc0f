/* Whether this is built with AddressSanitizer (make VARIANT=sanitize, make fuzz),
 * whose shadow is terabytes of address space. */
#ifndef LIB_SANITIZE_H
#define LIB_SANITIZE_H

#if defined __SANITIZE_ADDRESS__
#define ADDRESS_SANITIZER 1
#elif defined __has_feature
#define ADDRESS_SANITIZER __has_feature(address_sanitizer)
#else
#define ADDRESS_SANITIZER 0
#endif

#endif
