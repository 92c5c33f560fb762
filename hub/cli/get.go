package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
)

const (
	// whyWidth is how much is shown of a sentence in a table.
	whyWidth = 70
	// mostIdle is how many policies that have nothing are explained.
	mostIdle = 10
)

// getFlags say which applications to show and how.
type getFlags struct {
	hub       hubFlags
	output    outputFlag
	namespace string
	unready   bool
	check     bool
}

func newGet(env Environment) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [KIND[/NAME]]",
		Short: "Show applications: which policy has them, where they are and how they fare",
		Long: "Show each template that policies send out: of how many clusters it is ready in how many, where ready is applied,\n" +
			"healthy, and reported by a cluster that is heard from. One application is shown with its clusters. Policies that have\n" +
			"nothing are named below.\n\n" + statesHelp(),
		Example: "  hub get\n  hub get deployments -n shop -o wide\n  hub get deployment/web -n shop\n  hub get --unready\n  hub get --check > /dev/null && echo all is well",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(fs)
	f.output.add(cmd)
	fs.StringVarP(&f.namespace, "namespace", "n", "", "namespace (default: all of them; of one application that is named, default)")
	fs.BoolVar(&f.unready, "unready", false, "leave out what is well")
	fs.BoolVar(&f.check, "check", false, "end with status 2 unless all that is shown is well")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	return cmd
}

// statesHelp names the states.
func statesHelp() string {
	var out []string
	for _, s := range applications.States() {
		out = append(out, string(s))
	}
	return "States, the worst first: " + strings.Join(out, ", ") + "."
}

func scopeOf(namespace string) view.Scope { return view.Scope{Namespace: namespace} }

func (f *getFlags) run(ctx context.Context, env Environment, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	hub, err := f.hub.open(env)
	if err != nil {
		return err
	}
	if len(args) == 2 || (len(args) == 1 && strings.Contains(args[0], "/")) {
		return f.one(ctx, env, hub, args)
	}
	all, err := hub.Applications(ctx, scopeOf(f.namespace))
	if err != nil {
		return inOne(f.namespace, err)
	}
	apps := slices.Clone(all)
	if len(args) == 1 {
		mapping, err := hub.mapping(args[0])
		if err != nil {
			return err
		}
		apps = slices.DeleteFunc(apps, func(a applications.Application) bool {
			return schema.FromAPIVersionAndKind(a.APIVersion, a.Kind).GroupKind() != mapping.GroupVersionKind.GroupKind()
		})
	}
	if f.unready {
		apps = slices.DeleteFunc(apps, func(a applications.Application) bool { return a.State == applications.Healthy })
	}
	if len(apps) > 0 || !f.output.text() {
		if err := f.output.print(env, listOf(apps), appTable(apps, env.Clock.Now())); err != nil {
			return err
		}
	} else {
		say(env.Err, "%s", f.nothing(len(all)))
	}
	if f.output.text() {
		if err := saysHeld(ctx, env, hub); err != nil {
			return err
		}
	}
	if f.output.text() && len(args) == 0 {
		if err := f.idle(ctx, env, hub, all); err != nil {
			return err
		}
	}
	return f.verdict(apps)
}

// nothing says why nothing is shown.
func (f *getFlags) nothing(all int) string {
	switch {
	case all > 0 && f.unready:
		return "All is well"
	case all > 0:
		return "There is no application of that kind; `hub get` shows those that there are"
	case f.namespace != "":
		return "There is no application in namespace " + f.namespace + "; `hub get` shows those of all namespaces"
	default:
		return "There is no application: create an object and a PropagationPolicy that selects it"
	}
}

// inOne adds to an error about rights in all namespaces that one of them can be asked for.
func inOne(namespace string, err error) error {
	if namespace == "" && apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; name one that you have rights in with -n NAMESPACE", err)
	}
	return err
}

// saysHeld names the clusters whose agents hold back deletions: what is shown as moving or
// deleted waits there for a word of an operator.
func saysHeld(ctx context.Context, env Environment, hub *opened) error {
	fleet, err := hub.Capacities(ctx)
	if apierrors.IsForbidden(err) {
		return nil // the tenant of a namespace: what it comes to is on the bindings
	}
	if err != nil {
		return err
	}
	for i := range fleet {
		if c := &fleet[i]; c.DeletionsHeld != "" {
			say(env.Err, "Cluster %s holds back deletions: %s", c.Name, c.DeletionsHeld)
		}
	}
	return nil
}

// idle names the policies that have nothing.
func (f *getFlags) idle(ctx context.Context, env Environment, hub *opened, apps []applications.Application) error {
	policies, err := hub.Policies(ctx, scopeOf(f.namespace), apps)
	if err != nil {
		return err
	}
	idle, err := hub.IdlePolicies(ctx, policies, mostIdle)
	if err != nil {
		return err
	}
	for _, p := range idle {
		say(env.Err, "%s %s: %s", p.Kind, policyName(p), p.Remark)
	}
	if more := count(policies) - len(idle); more > 0 {
		say(env.Err, "and %d more policies have nothing", more)
	}
	return nil
}

func policyName(p applications.Policy) string {
	return strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
}

func count(policies []applications.Policy) int {
	n := 0
	for _, p := range policies {
		if p.Has == 0 {
			n++
		}
	}
	return n
}

// one shows one application and its clusters.
func (f *getFlags) one(ctx context.Context, env Environment, hub *opened, args []string) error {
	ref, err := hub.named(args, f.namespace)
	if err != nil {
		return err
	}
	a, err := hub.Application(ctx, ref)
	if err != nil {
		return err
	}
	if !f.output.text() {
		if err := f.output.encode(env, a); err != nil {
			return err
		}
		return f.verdict([]applications.Application{*a})
	}
	if err := f.output.print(env, nil, appTable([]applications.Application{*a}, env.Clock.Now())); err != nil {
		return err
	}
	if len(a.Places) > 0 {
		say(env.Out, "")
		if err := f.output.print(env, nil, placeTable(a.Places)); err != nil {
			return err
		}
	}
	return f.verdict([]applications.Application{*a})
}

// verdict is an error if a check was asked for and something is not well.
func (f *getFlags) verdict(apps []applications.Application) error {
	bad := 0
	for i := range apps {
		if apps[i].State != applications.Healthy {
			bad++
		}
	}
	if !f.check || bad == 0 {
		return nil
	}
	return &statusError{ExitNo, fmt.Sprintf("%d of %d applications are not well", bad, len(apps))}
}

// named reads the one object that arguments name; its namespace is default if none is given.
func (o *opened) named(args []string, namespace string) (view.Ref, error) {
	kind, name, err := objectArgument(args, false)
	if err != nil {
		return view.Ref{}, err
	}
	return o.ref(kind, cmp.Or(namespace, "default"), name)
}
