package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view"
)

// The values of -o.
const (
	outputText = "text"
	outputJSON = "json"
	outputYAML = "yaml"
)

// explainFlags are the flags of `hub explain`.
type explainFlags struct {
	hub       hubFlags
	namespace namespaceFlags
	output    string
	whatIf    bool
	files     []string
}

func newExplain(env Environment) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Explain why an object is in its clusters, or why not",
		Long: "Show which policies select an object and which one has it, what was decided about each cluster, and what happened\n" +
			"there. With --what-if it explains policies in a file that are not on the hub, and changes nothing; without an\n" +
			"object, it does so for every object that they select.",
		Example: "  hub explain deployment/web -n shop\n" +
			"  hub explain deploy web -n shop -o yaml\n" +
			"  hub explain --what-if -f policy.yaml deployment/web -n shop",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.namespace.add(env, cmd, &f.hub, "object")
	fs.StringVarP(&f.output, "output", "o", outputText, "text, json or yaml")
	fs.BoolVar(&f.whatIf, "what-if", false, "explain the policies in the files of -f, as if they were on the hub")
	fs.StringArrayVarP(&f.files, "filename", "f", nil, "file with policies for --what-if; - is the standard input")
	complete(cmd, "output", []string{outputText, outputJSON, outputYAML})
	cmd.ValidArgsFunction = completing(env, &f.hub, objectNames(&f.namespace))
	return cmd
}

func (f *explainFlags) run(ctx context.Context, env Environment, args []string) error {
	if f.output != outputText && f.output != outputJSON && f.output != outputYAML {
		return fmt.Errorf("--output is %q; it must be %s, %s or %s", f.output, outputText, outputJSON, outputYAML)
	}
	if f.whatIf != (len(f.files) > 0) {
		return errors.New("--what-if and -f go together: name the file with the policies")
	}
	kind, name, err := objectArgument(args, f.whatIf)
	if err != nil {
		return err
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	namespace, err := f.namespace.one(hub)
	if err != nil {
		return err
	}
	var ref *view.Ref
	if kind != "" {
		named, err := hub.ref(kind, namespace, name)
		if err != nil {
			return err
		}
		ref = &named
	}
	if !f.whatIf {
		report, err := hub.Explain(ctx, *ref)
		if err != nil {
			return err
		}
		return f.print(env, []*explain.Report{report})
	}
	policies, err := readPolicies(f.files)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if namespaced, ok := p.(*policyv1alpha1.PropagationPolicy); ok && namespaced.Namespace == "" {
			namespaced.Namespace = namespace
		}
	}
	reports, err := hub.WhatIf(ctx, policies, ref)
	if err != nil {
		return err
	}
	return f.print(env, reports)
}

func (f *explainFlags) print(env Environment, reports []*explain.Report) error {
	var value any = reports
	if len(reports) == 1 {
		value = reports[0]
	}
	if f.output != outputText {
		return (&outputFlag{format: f.output}).encode(env, value)
	}
	for i, r := range reports {
		if i > 0 {
			if _, err := fmt.Fprintln(env.Out); err != nil {
				return err
			}
		}
		if err := explain.Write(env.Out, r, env.Clock.Now()); err != nil {
			return err
		}
	}
	return nil
}

// objectArgument parses KIND/NAME or KIND NAME. If it is optional, there may be no argument, which means every selected
// object.
func objectArgument(args []string, optional bool) (kind, name string, err error) {
	if len(args) == 1 {
		kind, name, _ = strings.Cut(args[0], "/")
	} else if len(args) == 2 {
		kind, name = args[0], args[1]
	} else if optional {
		return "", "", nil
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("name the object as KIND/NAME, such as deployment/web")
	}
	return kind, name, nil
}
