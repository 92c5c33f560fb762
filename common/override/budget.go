package override

import "fmt"

// maxSteps bounds the steps for applying all override policies to an object for one cluster. A step takes some
// microseconds: parsing an image, an operation, a piece of a text. Realistic policies take a few hundred.
const maxSteps = 100_000

// Sizes that count as one step.
const (
	textInStep     = 32   // bytes of JSON or YAML in a string, which is parsed and written
	documentInStep = 1024 // bytes of it per operation, which may move list elements
	elementsInStep = 256  // list elements of the object that an operation moves
	wordsInStep    = 16   // words of a command
	fixedInStep    = 32   // fixed values, which are compared after each rule
)

// budget is the number of steps left.
type budget struct{ left int }

// spend takes steps, or fails if there are not enough.
func (b *budget) spend(steps int) error {
	if b.left -= steps; b.left < 0 {
		return fmt.Errorf("the override policies of the object take more than %d steps for one cluster; "+
			"use fewer operations and rules, or divide the object into smaller ones", maxSteps)
	}
	return nil
}

// nodes counts the values within a value.
func nodes(value any) int {
	n := 1
	switch v := value.(type) {
	case map[string]any:
		for _, child := range v {
			n += nodes(child)
		}
	case []any:
		for _, child := range v {
			n += nodes(child)
		}
	}
	return n
}
