package native

import (
	"math"
	"strconv"

	"fairlead.dev/common/contract"
)

// Fields that say of which generation a status speaks.
const (
	// observedGeneration is the member's generation that the status is about.
	observedGeneration = "observedGeneration"
	// generation, in a reflected status, is the member's generation.
	generation = "generation"
	// templateGeneration, in a reflected status, is the template's generation that
	// the member's object was made of.
	templateGeneration = "resourceTemplateGeneration"
)

// counters are fields of a status that hold whole numbers.
type counters struct {
	// always are there even when they are 0, as their kind has it.
	always []string
	// nonzero are left out when they are 0.
	nonzero []string
	// generations says that the status tells of which generation it speaks.
	generations bool
}

// reflect returns the counters of a live object.
func (k counters) reflect(live content) content {
	status := contentAt(live, "status")
	out := content{}
	for _, field := range k.always {
		out[field] = number(status, field)
	}
	for _, field := range k.nonzero {
		setNonzero(out, field, number(status, field))
	}
	if k.generations {
		setNonzero(out, observedGeneration, number(status, observedGeneration))
		setNonzero(out, generation, number(contentAt(live, "metadata"), generation))
		// An object that was adopted and not applied yet has no such annotation; what it
		// reports is worth having all the same.
		if n, err := strconv.ParseInt(annotationOf(live, contract.TemplateGenerationAnnotation), 10, 64); err == nil {
			setNonzero(out, templateGeneration, n)
		}
	}
	return out
}

// aggregate adds the counters of all clusters up. The other fields of the status are
// left as they are. The template's generation counts as observed once every cluster,
// also one that has not reported yet, has observed it.
func (k counters) aggregate(template content, items []item) error {
	status := contentAt(template, "status")
	for _, fields := range [][]string{k.always, k.nonzero} {
		for _, field := range fields {
			setCounter(status, field, sumOf(items, field))
		}
	}
	if !k.generations {
		return nil
	}
	current := number(contentAt(template, "metadata"), generation)
	for _, it := range items {
		if it.status == nil ||
			number(it.status, observedGeneration) < number(it.status, generation) ||
			number(it.status, templateGeneration) < current {
			return nil
		}
	}
	setCounter(status, observedGeneration, current)
	return nil
}

// sumOf adds a counter of all clusters up. One that no API has is returned as it is, so that the status is refused for it: added to
// others it could make a sum that looks well.
func sumOf(items []item, field string) int64 {
	var sum int64
	for _, it := range items {
		n := number(it.status, field)
		if n < 0 || n > math.MaxInt32 {
			return n
		}
		sum += n
	}
	return sum
}

// setNonzero sets a field unless the number is 0.
func setNonzero(c content, field string, n int64) {
	if n != 0 {
		c[field] = n
	}
}

// setCounter sets a field unless it says so already: no field is a 0.
func setCounter(c content, field string, n int64) {
	if number(c, field) != n {
		c[field] = n
	}
}
