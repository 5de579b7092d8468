static inline $T sw_root_$T(const $T x)
{
    return $root;
}
