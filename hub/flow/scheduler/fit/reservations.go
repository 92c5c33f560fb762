package fit

import "slices"

// Reservations are what was assigned to clusters and is not in their reports yet, of all clusters at one moment. They never change: what is
// assigned later makes others of them, which have the same objects for the clusters where nothing changed. So whoever remembers what
// was said of a cluster looks only whether the object is another one. The zero value has none.
type Reservations struct {
	places  *Places
	assumed []*Assumed
}

// Places say at which place of all reservations those of a cluster are, by name. They never change, and stay the same object while the
// clusters are the same.
type Places map[string]int

// NewReservations returns reservations that have those of each cluster at its place; nil if it has none. Neither may be changed any more.
func NewReservations(places *Places, assumed []*Assumed) Reservations {
	return Reservations{places: places, assumed: assumed}
}

// With returns reservations that have others at some places.
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

// Place is where the reservations of a cluster are; negative if it has no place.
func (r Reservations) Place(cluster string) int {
	if r.places == nil {
		return -1
	}
	if place, ok := (*r.places)[cluster]; ok {
		return place
	}
	return -1
}

// At returns the reservations at a place, not to be changed; nil if there are none.
func (r Reservations) At(place int) *Assumed {
	if place < 0 {
		return nil
	}
	return r.assumed[place]
}

// SamePlaces says whether each cluster has the place that it has in others.
func (r Reservations) SamePlaces(others Reservations) bool { return r.places == others.places }

// Same says whether two are one.
func (r Reservations) Same(others Reservations) bool {
	return r.places == others.places && len(r.assumed) == len(others.assumed) && (len(r.assumed) == 0 || &r.assumed[0] == &others.assumed[0])
}
