package fit

import "slices"

// Reservations are what was assigned to all clusters and is not in their reports yet, at one moment. They are immutable: later assignments
// make new Reservations, which share the objects of the clusters where nothing changed. So a cache compares pointers to see whether a
// cluster's reservations changed. The zero value is empty.
type Reservations struct {
	places  *Places
	assumed []*Assumed
}

// Places maps the name of a cluster to the index of its reservations. It is immutable, and stays the same object while the clusters are the
// same.
type Places map[string]int

// NewReservations returns reservations; assumed has those of each cluster at its place, nil if there are none. The caller must not modify
// either argument afterwards.
func NewReservations(places *Places, assumed []*Assumed) Reservations {
	return Reservations{places: places, assumed: assumed}
}

// With returns a copy of the reservations with others at some places.
func (r Reservations) With(others map[int]*Assumed) Reservations {
	r.assumed = slices.Clone(r.assumed)
	for place, assumed := range others {
		r.assumed[place] = assumed
	}
	return r
}

// Of returns what is reserved in a cluster.
func (r Reservations) Of(cluster string) Assumed {
	if assumed := r.At(r.Place(cluster)); assumed != nil {
		return *assumed
	}
	return Assumed{}
}

// Place returns the index of a cluster's reservations; negative if it has none.
func (r Reservations) Place(cluster string) int {
	if r.places == nil {
		return -1
	}
	if place, ok := (*r.places)[cluster]; ok {
		return place
	}
	return -1
}

// At returns the reservations at a place, which must not be modified; nil if there are none.
func (r Reservations) At(place int) *Assumed {
	if place < 0 {
		return nil
	}
	return r.assumed[place]
}

// SamePlaces returns whether both share their Places.
func (r Reservations) SamePlaces(others Reservations) bool { return r.places == others.places }

// Same returns whether both are the same object, so that nothing changed in between.
func (r Reservations) Same(others Reservations) bool {
	return r.places == others.places && len(r.assumed) == len(others.assumed) && (len(r.assumed) == 0 || &r.assumed[0] == &others.assumed[0])
}
