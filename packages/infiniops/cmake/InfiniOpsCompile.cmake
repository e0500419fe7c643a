# How the project's own targets are compiled.

# Warnings, visibility and sanitizers of every target of the project. Consumers see none of it.
function(infini_ops_set_compile_rules target)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC bug 105651: a false alarm inside std::string's concatenation.
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(INFINI_OPS_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(INFINI_OPS_SANITIZE STREQUAL "address")
    set(flags -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  elseif(INFINI_OPS_SANITIZE STREQUAL "thread")
    set(flags -fsanitize=thread)
  elseif(NOT INFINI_OPS_SANITIZE STREQUAL "")
    message(FATAL_ERROR
      "INFINI_OPS_SANITIZE is \"${INFINI_OPS_SANITIZE}\"; expected empty, \"address\" or \"thread\".")
  endif()
  if(INFINI_OPS_SANITIZE)
    target_compile_options(${target} PRIVATE ${flags} -g)
    target_link_options(${target} PRIVATE ${flags})
  endif()
endfunction()

# For what runs before a kernel: its loops are over the dimensions of a tensor. Vectorised ones take longer to set up
# than to run, and their wide loads wait for the narrow stores that wrote the sizes a moment before.
function(infini_ops_compile_for_short_loops target)
  target_compile_options(${target} PRIVATE -fno-tree-vectorize)
endfunction()
