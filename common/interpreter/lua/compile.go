package lua

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// Compiler builds interpreters from customizations. It reuses the compiled scripts of the previous interpreter, so
// that only changed ones are compiled. It is safe for concurrent use.
type Compiler struct {
	engine *vm.Engine
	failed func(Failure)

	mu   sync.Mutex
	last map[source]compiled
}

// source is the text of a script and the function it must define.
type source struct {
	text, function string
}

// compiled is a compiled script, or the error.
type compiled struct {
	script *vm.Script
	err    error
}

// Options configure how scripts run, and who is told when they fail.
type Options struct {
	vm.Options
	// Failed is called for every script that fails when asked; it may be nil. It is called by the asking goroutine
	// and must not block.
	Failed func(Failure)
}

// Failure is the failure of a script when asked.
type Failure struct {
	// Customization is its name; UID and Generation are those of its metadata: recreated customizations restart their
	// generations.
	Customization string
	UID           types.UID
	Generation    int64
	// Err says which rule failed, for which object, and why.
	Err error
}

// NewCompiler returns a compiler.
func NewCompiler(o Options) (*Compiler, error) {
	engine, err := vm.New(o.Options)
	if err != nil {
		return nil, err
	}
	return &Compiler{engine: engine, failed: o.Failed}, nil
}

// target is a kind and an operation.
type target struct {
	kind schema.GroupVersionKind
	op   interpreter.Operation
}

// answer is a script that answers for a target.
type answer struct {
	customization string
	uid           types.UID
	generation    int64
	compiled
	failed func(Failure)
}

// Compile builds the interpreter for customizations; on conflicts the first by name wins.
func (c *Compiler) Compile(customizations []configv1alpha1.ResourceInterpreterCustomization) *Interpreter {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &Interpreter{answers: map[target][]answer{}}
	used := map[source]compiled{}
	for _, customization := range byName(customizations) {
		kind := schema.FromAPIVersionAndKind(customization.Spec.Target.APIVersion, customization.Spec.Target.Kind)
		for _, rule := range Rules() {
			text := rule.Script(customization)
			if text == "" {
				continue
			}
			at := target{kind: kind, op: rule.Operation}
			if len(out.answers[at]) > 0 && rule.Operation != interpreter.InterpretDependency {
				continue // another customization takes precedence; see Check
			}
			out.answers[at] = append(out.answers[at], answer{
				customization.Name, customization.UID, customization.Generation, c.compile(source{text, rule.Function}, used), c.failed,
			})
		}
	}
	c.last = used
	return out
}

func (c *Compiler) compile(from source, used map[source]compiled) compiled {
	out, ok := used[from]
	if !ok {
		out, ok = c.last[from]
	}
	if !ok {
		out.script, out.err = c.engine.Compile(from.text, from.function)
	}
	used[from] = out
	return out
}

// byName returns the customizations in order of precedence.
func byName(list []configv1alpha1.ResourceInterpreterCustomization) []*configv1alpha1.ResourceInterpreterCustomization {
	out := make([]*configv1alpha1.ResourceInterpreterCustomization, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	slices.SortFunc(out, func(a, b *configv1alpha1.ResourceInterpreterCustomization) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Problem is a script that is not used.
type Problem struct {
	Rule Rule
	// Line is the line of the script, from 1; 0 if it is not known or does not apply.
	Line int
	// Message is the error in the script; empty if the script is only shadowed by another.
	Message string
	// ShadowedBy is the customization that answers instead.
	ShadowedBy string
}

// Check returns the scripts of one customization that are not used, given the others, which may include the
// customization itself.
func (c *Compiler) Check(one *configv1alpha1.ResourceInterpreterCustomization, others []configv1alpha1.ResourceInterpreterCustomization) []Problem {
	var out []Problem
	for _, rule := range Rules() {
		text := rule.Script(one)
		if text == "" {
			continue
		}
		if _, err := c.engine.Compile(text, rule.Function); err != nil {
			problem := Problem{Rule: rule, Message: err.Error()}
			if of := (*vm.Error)(nil); errors.As(err, &of) {
				problem.Line, problem.Message = of.Line, of.Message
			}
			out = append(out, problem)
			continue
		}
		if rule.Operation == interpreter.InterpretDependency {
			continue // dependencies are combined
		}
		for _, other := range byName(others) {
			if other.Name < one.Name && other.Spec.Target == one.Spec.Target && rule.Script(other) != "" {
				out = append(out, Problem{Rule: rule, ShadowedBy: other.Name})
				break
			}
		}
	}
	return out
}
