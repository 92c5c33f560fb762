package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/applications"
)

const (
	// whyWidth is how much of a sentence a table shows.
	whyWidth = 70
	// mostIdle is how many policies that match nothing are explained.
	mostIdle = 10
)

// getFlags are the flags of `hub get`.
type getFlags struct {
	hub       hubFlags
	output    outputFlag
	namespace namespaceFlags
	unready   bool
	check     bool
}

func newGet(env Environment) *cobra.Command {
	var f getFlags
	cmd := &cobra.Command{
		Use:   "get [KIND[/NAME]]",
		Short: "Show applications: their policies, clusters and status",
		Long: "Show each template of a namespace, or with -A of all, that policies send out: of how many clusters it is ready in how\n" +
			"many, where ready is applied, healthy, and reported by a cluster that is heard from. One application is shown with its\n" +
			"clusters. Policies that have nothing are named below.\n\n" + statesHelp(),
		Example: "  hub get -A\n  hub get deployments -n shop -o wide\n  hub get deployment/web -n shop\n  hub get -A --unready\n  hub get -A --check > /dev/null && echo all is well",
		Args:    cobra.MaximumNArgs(2),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	f.output.add(cmd)
	f.namespace.add(env, cmd, &f.hub, "applications")
	f.namespace.addAll(cmd)
	fs.BoolVar(&f.unready, "unready", false, "leave out what is healthy")
	fs.BoolVar(&f.check, "check", false, "end with status 2 unless everything that is shown is healthy")
	cmd.ValidArgsFunction = completing(env, &f.hub, applicationNames(&f.namespace))
	return cmd
}

// statesHelp lists the states.
func statesHelp() string {
	var out []string
	for _, s := range applications.States() {
		out = append(out, string(s))
	}
	return "States, the worst first: " + strings.Join(out, ", ") + "."
}

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
	return f.many(ctx, env, hub, args)
}

// many shows the applications of a namespace, or of all.
func (f *getFlags) many(ctx context.Context, env Environment, hub *opened, kinds []string) error {
	var (
		scope   view.Scope
		mapping *meta.RESTMapping
		err     error
	)
	if len(kinds) == 1 {
		if mapping, err = hub.mapping(kinds[0]); err != nil {
			return err
		}
	}
	if mapping == nil || mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if scope, err = f.scope(hub); err != nil {
			return err
		}
	}
	all, err := hub.Applications(ctx, scope)
	if err != nil {
		return inOne(scope, err)
	}
	apps := slices.Clone(all)
	if mapping != nil {
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
		say(env.Err, "%s", f.nothing(scope, len(all)))
	}
	if f.output.text() {
		if err := saysHeld(ctx, env, hub); err != nil {
			return err
		}
	}
	if f.output.text() && mapping == nil {
		if err := f.idle(ctx, env, hub, scope, all); err != nil {
			return err
		}
	}
	return f.verdict(apps)
}

// scope returns where to look. A check must not report success for a namespace that nobody named.
func (f *getFlags) scope(hub *opened) (view.Scope, error) {
	if f.check && !f.namespace.all && f.namespace.name == "" && hub.namespace == "" {
		return view.Scope{}, errors.New("--check needs a namespace, and neither -n nor the context of the kubeconfig names one: name it, or check all of them with -A")
	}
	return f.namespace.scope(hub), nil
}

// nothing says why the list is empty.
func (f *getFlags) nothing(scope view.Scope, all int) string {
	where := ""
	if scope.Namespace != "" {
		where = " in namespace " + scope.Namespace
	}
	switch {
	case all > 0 && f.unready:
		return "All is well" + where
	case all > 0:
		return "There is no application of that kind" + where + "; `hub get -A` lists all"
	case where != "":
		return "There is no application" + where + "; `hub get -A` lists those of all namespaces"
	default:
		return "There is no application: create an object and a PropagationPolicy that selects it"
	}
}

// inOne adds a hint about -n to an error about missing rights in all namespaces.
func inOne(scope view.Scope, err error) error {
	if scope.Namespace == "" && apierrors.IsForbidden(err) {
		return fmt.Errorf("%w; name one that you have rights in with -n NAMESPACE", err)
	}
	return err
}

// saysHeld lists the clusters whose agents hold back deletions: what is shown as moving or deleting waits there for an
// operator.
func saysHeld(ctx context.Context, env Environment, hub *opened) error {
	fleet, err := hub.Capacities(ctx)
	if apierrors.IsForbidden(err) {
		return nil // a tenant: the bindings have the consequences
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

// idle lists the policies that match nothing.
func (f *getFlags) idle(ctx context.Context, env Environment, hub *opened, scope view.Scope, apps []applications.Application) error {
	policies, err := hub.Policies(ctx, scope, apps)
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
	ref, err := hub.named(args, &f.namespace)
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

// verdict returns an error if a check was requested and something is not well.
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
	return &statusError{ExitNo, fmt.Sprintf("%d of %d applications are not healthy", bad, len(apps))}
}

// named returns the object that the arguments name.
func (o *opened) named(args []string, in *namespaceFlags) (view.Ref, error) {
	kind, name, err := objectArgument(args, false)
	if err != nil {
		return view.Ref{}, err
	}
	namespace, err := in.one(o)
	if err != nil {
		return view.Ref{}, err
	}
	return o.ref(kind, namespace, name)
}
