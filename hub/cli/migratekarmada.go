package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/people/migrate"
	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/hub/people/migrate/karmada"
	"fairlead.dev/hub/people/view/diff"
)

// karmadaFlags are the flags of `hub migrate karmada`.
type karmadaFlags struct {
	migrateFlags
	kubeconfig, context string
	hub                 hubFlags
	options             karmada.Options
	dryRun              bool
}

func newMigrateKarmada(env Environment) *cobra.Command {
	var f karmadaFlags
	cmd := &cobra.Command{
		Use:   "karmada --kubeconfig FILE | -f FILE|DIRECTORY",
		Short: "Convert the objects of a Karmada control plane, so that nothing moves",
		Long: "Read a Karmada control plane, or files that `kubectl get -o yaml` wrote of one, and print what this hub is to be given:\n" +
			"templates, policies, overrides, customizations and quotas without what the old machinery wrote on them, bindings that\n" +
			"say where everything is, and commands that make a join token for each cluster. Nothing is written to the old control\n" +
			"plane. Clusters in push mode become ones with an agent.\n\n" +
			"With --dry-run it renders what this hub would send to each member, and says object by object how that differs from\n" +
			"what was sent. Files need Works for that. With --apply it creates the objects on this hub, once the clusters have joined;\n" +
			"what is there is never written, so that it can be run again.",
		Example: "  hub migrate karmada --kubeconfig karmada.config --dry-run\n" +
			"  hub migrate karmada --kubeconfig karmada.config -o converted\n" +
			"  hub migrate karmada -f export/ --cluster edge-1 --cluster edge-2\n" +
			"  hub migrate karmada --kubeconfig karmada.config --apply",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the old control plane")
	fs.StringVar(&f.context, "context", "", "context of that kubeconfig (default: its current one)")
	f.add(fs, "objects of the old control plane")
	fs.StringArrayVar(&f.options.Clusters, "cluster", nil, "cluster to migrate; may be given more than once (default: all)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "print what would change in each member instead of the objects")
	f.hub.local = true
	f.hub.addNamed(env, cmd, fs, "hub-", "with --apply, kubeconfig of this hub")
	fs.StringVar(&f.hub.dataDir, "data-dir", defaultDataDir, "data directory of a hub on this machine")
	completeDirectories(cmd, "data-dir", "output-dir")
	return cmd
}

func (f *karmadaFlags) run(ctx context.Context, env Environment) error {
	if (f.kubeconfig == "") == (len(f.files) == 0) {
		return errors.New("say where the objects are: either --kubeconfig of the old control plane, or -f with files of it")
	}
	if f.dryRun && f.output != "" {
		return errors.New("--dry-run writes no files; leave out --output-dir")
	}
	if f.dryRun && f.apply {
		return errors.New("--dry-run changes nothing; leave out --apply")
	}
	if err := f.apart(env); err != nil {
		return err
	}
	documents, err := f.documents(ctx)
	if err != nil {
		return err
	}
	r := karmada.Convert(documents, f.options)
	if !f.dryRun {
		return f.finish(ctx, env, f.hub, r)
	}
	revise, err := reviser(ctx, r.Objects)
	if err != nil {
		return err
	}
	return f.compare(env, r, karmada.Compare(documents, r, f.options, revise))
}

func (f *karmadaFlags) documents(ctx context.Context) ([]conversion.Document, error) {
	if f.kubeconfig == "" {
		return f.read()
	}
	cfg, err := f.former()
	if err != nil {
		return nil, err
	}
	cfg.QPS = -1 // the server has its own limits
	return migrate.Read(ctx, cfg, f.kubeconfig)
}

// former returns the configuration for the old control plane.
func (f *karmadaFlags) former() (*rest.Config, error) {
	rules := clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig %s: %w", f.kubeconfig, err)
	}
	return cfg, nil
}

// apart makes sure that the old control plane and this hub are different servers.
func (f *karmadaFlags) apart(env Environment) error {
	if !f.apply || f.kubeconfig == "" {
		return nil
	}
	old, err := f.former()
	if err != nil {
		return err
	}
	k, err := f.hub.find(env)
	if err != nil {
		return err
	}
	hub, err := k.config()
	if err != nil {
		return err
	}
	if strings.TrimSuffix(hub.Host, "/") == strings.TrimSuffix(old.Host, "/") {
		return fmt.Errorf("--apply would write to the old control plane itself, at %s; name this hub's kubeconfig with --hub-kubeconfig", old.Host)
	}
	return nil
}

// reviser returns the functions that set replicas, by the migrated customizations and the built-in rules.
func reviser(ctx context.Context, objects []*unstructured.Unstructured) (karmada.Revise, error) {
	var customizations []configv1alpha1.ResourceInterpreterCustomization
	for _, obj := range objects {
		if obj.GetKind() != configv1alpha1.KindResourceInterpreterCustomization {
			continue
		}
		var c configv1alpha1.ResourceInterpreterCustomization
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &c); err != nil {
			return nil, fmt.Errorf("reading %s: %w", conversion.NameOf(obj), err)
		}
		customizations = append(customizations, c)
	}
	compiler, err := lua.NewCompiler(lua.Options{})
	if err != nil {
		return nil, fmt.Errorf("preparing Lua: %w", err)
	}
	builtIn, err := store.BuiltIn(vm.Options{})
	if err != nil {
		return nil, err
	}
	kinds := interpreter.Chain(compiler.Compile(customizations), builtIn)
	return func(kind schema.GroupVersionKind) render.Revise {
		if !kinds.Has(kind, interpreter.ReviseReplica) {
			return nil
		}
		return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
			return kinds.ReviseReplicas(ctx, obj, replicas)
		}
	}, nil
}

// compare prints the effect on each object of each member. The answer is yes if nothing changes.
func (f *karmadaFlags) compare(env Environment, r conversion.Result, changes []karmada.Change) error {
	if err := report(env, r); err != nil {
		return err
	}
	if len(changes) == 0 {
		return errors.New("there is no Work among the objects, so it is not known what was sent to the members")
	}
	changed := 0
	for _, c := range changes {
		verdict, text := "nothing changes", ""
		switch {
		case c.Failed != "":
			verdict = "the changes cannot be determined: " + c.Failed
			changed++
		case c.Desired == nil:
			verdict = "it is not sent any more, and stays as it is"
			changed++
		case c.Sent == nil:
			verdict = "the cluster gets it, which the old control plane had not sent there"
			changed++
		default:
			var err error
			if text, err = diff.Objects("sent", "would be sent", c.Sent.Object, c.Desired.Object); err != nil {
				return err
			}
			if text != "" {
				verdict = "it changes"
				changed++
			}
		}
		if _, err := fmt.Fprintf(env.Out, "%s: %s: %s\n%s", c.Cluster, c.Object, verdict, text); err != nil {
			return fmt.Errorf("writing the result: %w", err)
		}
	}
	if changed > 0 || r.Refused() {
		return &statusError{ExitNo, fmt.Sprintf("%d of %d objects in members would not stay as they are, or something is refused", changed, len(changes))}
	}
	return nil
}
