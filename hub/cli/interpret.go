package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/hub/people/view/diff"
)

// interpretFlags are the flags of `hub interpret`.
type interpretFlags struct {
	files     []string
	operation string
	check     bool
	diff      bool

	desired, observed, status string
	replicas                  int32
}

func newInterpret(env Environment) *cobra.Command {
	var f interpretFlags
	cmd := &cobra.Command{
		Use:   "interpret",
		Short: "Try interpreter rules: run a rule on objects in files",
		Long: "Ask a question about objects in files, by the rules of ResourceInterpreterCustomizations in files and, where those\n" +
			"have none, by the rules that are built in. No hub is needed. The answer is YAML on the standard output; what\n" +
			"scripts print, and whose rule answered, is on the standard error.\n\n" +
			"  operation            asks about\n" + operationsHelp(),
		Example: "  hub interpret -f customization.yaml --check\n" +
			"  hub interpret -f customization.yaml --operation InterpretHealth --observed-file live.yaml\n" +
			"  hub interpret -f customization.yaml --operation Retain --desired-file web.yaml --observed-file live.yaml --diff\n" +
			"  hub interpret --operation ReviseReplica --desired-file web.yaml --desired-replica 3",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.check {
				return f.runCheck(env, cmd.Flags().Changed("operation"))
			}
			return f.run(cmd.Context(), env, cmd.Flags().Changed("desired-replica"))
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&f.files, "filename", "f", nil, "file with ResourceInterpreterCustomizations; - is the standard input (default: what is built in)")
	fs.StringVar(&f.operation, "operation", "", "operation to run: "+strings.Join(operationNames(), ", "))
	fs.BoolVar(&f.check, "check", false, "only compile every script of -f")
	fs.BoolVar(&f.diff, "diff", false, "print how the object changes instead of the whole of it")
	fs.StringVar(&f.desired, "desired-file", "", "file with the template, as it is on the hub")
	fs.StringVar(&f.observed, "observed-file", "", "file with the object as it is in a member")
	fs.StringVar(&f.status, "status-file", "", "file with what the members reported: a list of items as in a binding's status.aggregatedStatus, or a binding")
	fs.Int32Var(&f.replicas, "desired-replica", 0, "how many replicas to set")
	if err := cmd.RegisterFlagCompletionFunc("operation", cobra.FixedCompletions(operationNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // cannot happen: the flag is defined above
	}
	return cmd
}

func operationNames() []string {
	var out []string
	for _, op := range interpreter.Operations() {
		out = append(out, string(op))
	}
	return out
}

func operationsHelp() string {
	var out strings.Builder
	for _, op := range interpreter.Operations() {
		fmt.Fprintf(&out, "  %-20s %s\n", op, strings.Join(inputsOf(op), ", "))
	}
	return strings.TrimRight(out.String(), "\n")
}

// runCheck compiles the scripts, and prints the problems of each.
func (f *interpretFlags) runCheck(env Environment, operation bool) error {
	if operation || f.desired != "" || f.observed != "" || f.status != "" || f.diff {
		return errors.New("--check asks nothing: use it with -f alone")
	}
	customizations, err := readCustomizations(f.files)
	if err != nil {
		return err
	}
	compiler, err := lua.NewCompiler(lua.Options{})
	if err != nil {
		return fmt.Errorf("preparing Lua: %w", err)
	}
	bad := false
	for i := range customizations {
		c := &customizations[i]
		problems := compiler.Check(c, customizations)
		for _, p := range problems {
			bad = bad || p.ShadowedBy == ""
		}
		if err := writeProblems(env.Out, c, problems); err != nil {
			return err
		}
	}
	if bad {
		return errors.New("some scripts cannot be used: correct those that are named above")
	}
	return nil
}

// writeProblems writes a line for every script of a customization.
func writeProblems(w io.Writer, c *configv1alpha1.ResourceInterpreterCustomization, problems []lua.Problem) error {
	of := map[string]lua.Problem{}
	for _, p := range problems {
		of[p.Rule.Field] = p
	}
	for _, rule := range lua.Rules() {
		script := rule.Script(c)
		if script == "" {
			continue
		}
		verdict := "ok"
		if p, ok := of[rule.Field]; ok {
			verdict = verdictOf(p, script)
		}
		if _, err := fmt.Fprintf(w, "%s: %s (function %s): %s\n", c.Name, rule.Field, rule.Function, verdict); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	return nil
}

func verdictOf(p lua.Problem, script string) string {
	if p.ShadowedBy != "" {
		return fmt.Sprintf("not used, because ResourceInterpreterCustomization %q has one for the same kind and its name comes first", p.ShadowedBy)
	}
	if lines := strings.Split(script, "\n"); p.Line > 0 && p.Line <= len(lines) {
		return fmt.Sprintf("line %d: %s\n    %s", p.Line, p.Message, strings.TrimSpace(lines[p.Line-1]))
	}
	return p.Message
}

func (f *interpretFlags) run(ctx context.Context, env Environment, replicas bool) error {
	q, err := f.question(replicas)
	if err != nil {
		return err
	}
	kinds, err := f.rules(env, q)
	if err != nil {
		return err
	}
	answer, err := q.Ask(ctx, kinds)
	if err != nil {
		return err
	}
	if !f.diff {
		return (&outputFlag{format: outputYAML}).encode(env, answer)
	}
	changed, _ := answer.(*unstructured.Unstructured) // run refuses other operations
	text, err := diff.Objects("given", "answer", q.Object, changed)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	if text == "" {
		text = "# nothing changes\n"
	}
	if _, err := fmt.Fprint(env.Out, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// rules returns the interpreter for a question: the first layer with a rule, as on the hub and the agents. It also
// prints which layer that is.
func (f *interpretFlags) rules(env Environment, q interpreter.Question) (interpreter.Interpreter, error) {
	scripts := vm.Options{Print: func(line string) { _, _ = fmt.Fprintln(env.Err, line) }}
	layers, err := store.Layers(scripts)
	if err != nil {
		return nil, err
	}
	kind := q.Object.GroupVersionKind()
	if len(f.files) > 0 {
		customizations, err := readCustomizations(f.files)
		if err != nil {
			return nil, err
		}
		compiler, err := lua.NewCompiler(lua.Options{Options: scripts})
		if err != nil {
			return nil, fmt.Errorf("preparing Lua: %w", err)
		}
		declared := compiler.Compile(customizations)
		layers = append([]store.Layer{{Name: "the rules of " + strings.Join(f.files, ", "), Interpreter: declared}}, layers...)
	}
	for _, l := range layers {
		if l.Has(kind, q.Operation) {
			_, err := fmt.Fprintf(env.Err, "# answered by %s\n", l.Name)
			return l, err
		}
	}
	if q.Operation == interpreter.InterpretHealth {
		_, err := fmt.Fprintf(env.Err, "# answered by the conventions for status conditions, since no rule is about %s of %s\n", kind.Kind, kind.GroupVersion())
		return byConvention{layers[0]}, err
	}
	return nil, fmt.Errorf("%w; without one, the hub and the agents leave %s", interpreter.NoRule(q.Object, q.Operation), withoutRule(q.Operation))
}

// withoutRule says what happens to kinds without a rule.
func withoutRule(op interpreter.Operation) string {
	switch op {
	case interpreter.InterpretReplica, interpreter.InterpretComponent:
		return "the object undivided"
	case interpreter.InterpretDependency:
		return "out what it needs"
	case interpreter.InterpretStatus:
		return "its status in the member"
	case interpreter.AggregateStatus:
		return "the status of the template as it is"
	default:
		return "the object as the template has it"
	}
}
