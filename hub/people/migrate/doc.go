// Package migrate reads the objects of another control plane for conversion, and applies the result to this hub.
//
//	Reads:  every object of the other control plane; on this hub, the objects to be created.
//	Writes: nothing in the other control plane; on this hub it creates objects, and changes none.
//
// The conversions are in its cores kubefed and karmada; conversion has their input and output.
package migrate
