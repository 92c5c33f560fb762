package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"fairlead.dev/hub/scheduler/explain"
)

// Values of -o.
const (
	outputText = "text"
	outputJSON = "json"
	outputYAML = "yaml"
)

// explainFlags say what to explain and how.
type explainFlags struct {
	hub       hubFlags
	namespace string
	output    string
	whatIf    bool
	files     []string
}

func newExplain(env Environment) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Say why an object is where it is, or why it is not",
		Long: "Say which policies select an object and which one has it, what was decided about each cluster, and what came of it\n" +
			"there. With --what-if it says so for policies in a file that are not on the hub, and touches nothing; without an\n" +
			"object then for every one that they select.",
		Example: "  hub explain deployment/web -n shop\n" +
			"  hub explain deploy web -n shop -o yaml\n" +
			"  hub explain --what-if -f policy.yaml deployment/web -n shop",
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.hub.kubeconfig, "kubeconfig", "", "kubeconfig of the hub (default: $KUBECONFIG, or else admin.kubeconfig in the data directory)")
	fs.StringVar(&f.hub.context, "context", "", "context in that kubeconfig (default: the current one)")
	fs.StringVar(&f.hub.dataDir, "data-dir", defaultDataDir, "data directory of a hub on this machine")
	fs.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of the object")
	fs.StringVarP(&f.output, "output", "o", outputText, "text, json or yaml")
	fs.BoolVar(&f.whatIf, "what-if", false, "explain the policies in the files of -f, as if they were on the hub")
	fs.StringArrayVarP(&f.files, "filename", "f", nil, "file with policies for --what-if; - is the standard input")
	return cmd
}

func (f *explainFlags) run(ctx context.Context, env Environment, args []string) error {
	if f.output != outputText && f.output != outputJSON && f.output != outputYAML {
		return fmt.Errorf("--output %q is none of %s, %s and %s", f.output, outputText, outputJSON, outputYAML)
	}
	if f.whatIf != (len(f.files) > 0) {
		return errors.New("--what-if and -f go together: name the file with the policies")
	}
	kind, name, err := objectArgument(args, f.whatIf)
	if err != nil {
		return err
	}
	cfg, err := f.hub.config(env)
	if err != nil {
		return err
	}
	hubClient, err := f.hub.connect(env)
	if err != nil {
		return err
	}
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("connecting to the hub at %s: %w", cfg.Host, err)
	}
	cached := memory.NewMemCacheClient(dc)
	e := &explainer{
		hub: hubClient, namespace: f.namespace,
		mapper: restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, func(string) {}),
	}
	var reports []*explain.Report
	if f.whatIf {
		policies, err := readPolicies(f.files)
		if err != nil {
			return err
		}
		reports, err = e.whatIf(ctx, policies, kind, name)
		if err != nil {
			return err
		}
	} else {
		report, err := e.object(ctx, kind, name)
		if err != nil {
			return err
		}
		reports = []*explain.Report{report}
	}
	return f.print(env, reports)
}

func (f *explainFlags) print(env Environment, reports []*explain.Report) error {
	var value any = reports
	if len(reports) == 1 {
		value = reports[0]
	}
	switch f.output {
	case outputJSON:
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the explanation: %w", err)
		}
		_, err = fmt.Fprintln(env.Out, string(data))
		return err
	case outputYAML:
		data, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("encoding the explanation: %w", err)
		}
		_, err = fmt.Fprint(env.Out, string(data))
		return err
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

// objectArgument reads KIND/NAME or KIND NAME; nothing is allowed where every object that
// is selected is meant.
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

// mapping finds the kind that a person means.
func (e *explainer) mapping(kind string) (*meta.RESTMapping, error) {
	full, group := schema.ParseResourceArg(strings.ToLower(kind))
	var gvk schema.GroupVersionKind
	var err error
	if full != nil {
		gvk, err = e.mapper.KindFor(*full)
	}
	if gvk.Empty() {
		gvk, err = e.mapper.KindFor(group.WithVersion(""))
	}
	if err != nil {
		return nil, fmt.Errorf("the hub knows no kind %q; see `kubectl api-resources`: %w", kind, err)
	}
	mapping, err := e.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up kind %q: %w", kind, err)
	}
	return mapping, nil
}

// explainer reads what an explanation is made of.
type explainer struct {
	hub       client.Client
	mapper    meta.RESTMapper
	namespace string
}
