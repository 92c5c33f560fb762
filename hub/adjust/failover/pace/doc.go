// Package pace lets applications leave failed clusters one after the other, so that what
// looks like a failure and is none does little harm until somebody sees it. Each zone of
// failure has a pace of its own: one that has failed does not hold up the others.
package pace
