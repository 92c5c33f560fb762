package chart

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// maxDepth bounds how deep templates may include one another.
const maxDepth = 20

// engine executes parsed templates.
type engine struct {
	trees     map[string]*parse.Tree
	functions map[string]any // by the names that the parser knows
	depth     int
}

// variable is a template variable, such as $name.
type variable struct {
	name  string
	value any
}

// frame is one execution of a template.
type frame struct {
	engine    *engine
	variables []variable
	out       strings.Builder
}

// execute renders the template with this name.
func (e *engine) execute(name string, dot any) (string, error) {
	tree := e.trees[name]
	if tree == nil || tree.Root == nil {
		return "", fmt.Errorf("there is no template %q", name)
	}
	if e.depth++; e.depth > maxDepth {
		return "", fmt.Errorf("template %q includes itself", name)
	}
	defer func() { e.depth-- }()
	f := &frame{engine: e, variables: []variable{{"$", dot}}}
	if err := f.walk(dot, tree.Root); err != nil {
		return "", err
	}
	return f.out.String(), nil
}

// walk executes a node. Variables that a block declares are dropped at its end.
func (f *frame) walk(dot any, node parse.Node) error {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			if err := f.walk(dot, child); err != nil {
				return err
			}
		}
		return nil
	case *parse.TextNode:
		f.out.Write(n.Text)
		return nil
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		value, err := f.pipe(dot, n.Pipe)
		if err == nil && len(n.Pipe.Decl) == 0 {
			f.out.WriteString(text(value))
		}
		return err
	case *parse.IfNode:
		return f.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return f.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return f.loop(dot, n)
	default:
		return fmt.Errorf("%s is not among what this program renders of a chart", node)
	}
}

// branch executes one of the two lists of an if or a with.
func (f *frame) branch(dot any, n *parse.BranchNode, moves bool) error {
	defer f.forget(len(f.variables))
	value, err := f.pipe(dot, n.Pipe)
	switch {
	case err != nil:
		return err
	case !isTrue(value) && n.ElseList == nil:
		return nil
	case !isTrue(value):
		return f.walk(dot, n.ElseList)
	case moves:
		return f.walk(value, n.List)
	default:
		return f.walk(dot, n.List)
	}
}

// loop executes the list of a range for each element.
func (f *frame) loop(dot any, n *parse.RangeNode) error {
	defer f.forget(len(f.variables))
	decl := n.Pipe.Decl
	over, err := f.commands(dot, n.Pipe)
	if err != nil {
		return err
	}
	var keys, elements []any
	switch v := over.(type) {
	case nil:
	case []any:
		elements = v
		for i := range v {
			keys = append(keys, i)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			keys, elements = append(keys, key), append(elements, v[key])
		}
	default:
		return fmt.Errorf("range over %T in %s", over, n.Pipe)
	}
	if len(elements) == 0 && n.ElseList != nil {
		return f.walk(dot, n.ElseList)
	}
	for i, element := range elements {
		before := len(f.variables)
		if len(decl) > 1 {
			f.variables = append(f.variables, variable{decl[0].Ident[0], keys[i]})
		}
		if len(decl) > 0 {
			f.variables = append(f.variables, variable{decl[len(decl)-1].Ident[0], element})
		}
		if err := f.walk(element, n.List); err != nil {
			return err
		}
		f.forget(before)
	}
	return nil
}

// forget drops the variables declared since there were count of them.
func (f *frame) forget(count int) { f.variables = f.variables[:count] }

// pipe evaluates a pipeline, and declares or sets its variable.
func (f *frame) pipe(dot any, pipe *parse.PipeNode) (any, error) {
	value, err := f.commands(dot, pipe)
	if err != nil {
		return nil, err
	}
	for _, decl := range pipe.Decl {
		if !pipe.IsAssign {
			f.variables = append(f.variables, variable{decl.Ident[0], value})
		} else if v := f.find(decl.Ident[0]); v != nil {
			v.value = value
		}
	}
	return value, nil
}

// find returns the innermost variable with this name.
func (f *frame) find(name string) *variable {
	for i := range slices.Backward(f.variables) {
		if f.variables[i].name == name {
			return &f.variables[i]
		}
	}
	return nil
}

// commands evaluates the commands of a pipeline; each gets the previous result as its last argument.
func (f *frame) commands(dot any, pipe *parse.PipeNode) (any, error) {
	var value any
	for i, command := range pipe.Cmds {
		var last []any
		if i > 0 {
			last = []any{value}
		}
		var err error
		if value, err = f.command(dot, command.Args, last); err != nil {
			return nil, err
		}
	}
	return value, nil
}

// command calls a function, or evaluates an operand.
func (f *frame) command(dot any, args []parse.Node, last []any) (any, error) {
	name, isCall := args[0].(*parse.IdentifierNode)
	if !isCall {
		if len(args) > 1 || len(last) > 0 {
			return nil, fmt.Errorf("%s is no function", args[0])
		}
		return f.value(dot, args[0])
	}
	values := make([]any, 0, len(args))
	for _, arg := range args[1:] {
		value, err := f.value(dot, arg)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		// `and` and `or` evaluate no more arguments once the result is known.
		if len(last) == 0 && (name.Ident == "and" && !isTrue(value) || name.Ident == "or" && isTrue(value)) {
			return value, nil
		}
	}
	values = append(values, last...)
	if name.Ident == "include" {
		template, isText := values[0].(string)
		if !isText || len(values) != 2 {
			return nil, errors.New("include takes the name of a template and what it sees")
		}
		return f.engine.execute(template, values[1])
	}
	return functions()[name.Ident].call(name.Ident, values)
}

// value evaluates an argument.
func (f *frame) value(dot any, node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil //nolint:nilnil // it is a value of templates
	case *parse.StringNode:
		return n.Text, nil
	case *parse.BoolNode:
		return n.True, nil
	case *parse.NumberNode:
		if !n.IsInt {
			return nil, fmt.Errorf("number %s is not an integer", n)
		}
		return int(n.Int64), nil
	case *parse.FieldNode:
		return field(dot, n.Ident, n)
	case *parse.VariableNode:
		v := f.find(n.Ident[0])
		if v == nil {
			return nil, fmt.Errorf("there is no variable %s", n)
		}
		return field(v.value, n.Ident[1:], n)
	case *parse.ChainNode:
		value, err := f.value(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return field(value, n.Field, n)
	case *parse.PipeNode:
		return f.pipe(dot, n)
	case *parse.IdentifierNode:
		return f.command(dot, []parse.Node{n}, nil)
	default:
		return nil, fmt.Errorf("%s is not among what this program renders of a chart", node)
	}
}

// field looks names up through nested maps.
func field(value any, names []string, node parse.Node) (any, error) {
	for _, name := range names {
		m, isMap := value.(map[string]any)
		if !isMap {
			return nil, fmt.Errorf("%s: there is no %s in what is no map", node, name)
		}
		value = m[name]
	}
	return value, nil
}
