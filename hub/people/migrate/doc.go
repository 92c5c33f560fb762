// Package migrate reads what another control plane holds, to be converted.
//
// Reads: every object of the other control plane. Writes: nothing, there or here.
// Its cores convert: kubefed and karmada, into what conversion describes.
package migrate
