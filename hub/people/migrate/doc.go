// Package migrate reads what another control plane holds, to be converted, and gives it to this hub.
//
// Reads: every object of the other control plane; on this hub, the objects that are to be there.
// Writes: there nothing; here it creates objects, and changes none.
// Its cores convert: kubefed and karmada, into what conversion describes.
package migrate
