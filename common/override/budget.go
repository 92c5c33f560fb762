package override

import "fmt"

// maxSteps is how many steps it may take to apply the override policies of an object for one cluster. A
// step is some microseconds: an image that is read, an operation, a piece of a text that is parsed. What
// people write takes some hundred.
const maxSteps = 100_000

// Pieces that count as a step beside what they are part of.
const (
	textInStep     = 32   // bytes of JSON or YAML in a string, which are parsed and written
	documentInStep = 1024 // bytes of them for each operation, which may move the elements of a list
	elementsInStep = 256  // elements of a list of the object that an operation moves
	wordsInStep    = 16   // words of a command
	fixedInStep    = 32   // values that a rule may not change, which are compared after each
)

// budget is the steps that are left.
type budget struct{ left int }

// spend takes steps, or says that there are not as many.
func (b *budget) spend(steps int) error {
	if b.left -= steps; b.left < 0 {
		return fmt.Errorf("the override policies of the object take more than %d steps for one cluster; "+
			"use fewer operations and rules, or divide the object into smaller ones", maxSteps)
	}
	return nil
}

// nodes counts the values that a value is made of.
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
