package native

import (
	"math"
	"strconv"

	"fairlead.dev/common/contract"
)

// Fields about the generation of a status.
const (
	// observedGeneration is the generation of the member's object that the status is about.
	observedGeneration = "observedGeneration"
	// generation, in a reflected status, is the generation of the member's object.
	generation = "generation"
	// templateGeneration, in a reflected status, is the generation of the template from which the member's object was
	// rendered.
	templateGeneration = "resourceTemplateGeneration"
)

// counters are integer fields of a status.
type counters struct {
	// always are set even if they are 0, as their kind does.
	always []string
	// nonzero are omitted if they are 0.
	nonzero []string
	// generations says that the status includes generations.
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
		// An object that was adopted but not applied yet lacks this annotation; its status is useful all the same.
		if n, err := strconv.ParseInt(annotationOf(live, contract.TemplateGenerationAnnotation), 10, 64); err == nil {
			setNonzero(out, templateGeneration, n)
		}
	}
	return out
}

// aggregate adds up the counters of all clusters, and leaves the other fields of the status unchanged. The template's
// generation counts as observed once every cluster has observed it, including those that have not reported yet.
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

// sumOf adds up a counter over all clusters. A negative value is returned as it is, so that the API refuses the
// status: added to others, it could make a plausible sum.
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

// setCounter sets a field unless it has that value already; a missing field counts as 0.
func setCounter(c content, field string, n int64) {
	if number(c, field) != n {
		c[field] = n
	}
}
