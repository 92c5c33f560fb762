package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/upgrade/plan"
	"fairlead.dev/common/version"
)

// none is the value of --upgrade-images that forbids the hub to upgrade the agent.
const none = "none"

// installFlags say whether to install the agent in its member, and what it may do there.
type installFlags struct {
	wanted        bool
	image         string
	volume        string
	priorityClass string
	namespaces    []string
	kinds         []string
	safeKinds     []string
	upgrades      []string
	// pod says how its pods run.
	pod podFlags

	// proxy is the agent's proxy; nil means the one of this process.
	proxy map[string]string
	// given returns whether a flag was given.
	given func(name string) bool
}

func (f *installFlags) add(flags *pflag.FlagSet) {
	f.given = flags.Changed
	flags.BoolVar(&f.wanted, "install", false, "run the agent as a Deployment in this cluster")
	flags.StringVar(&f.image, "image", "docker.io/fairlead/agent:"+version.Of().ImageTag, "image of that Deployment, best with the host of its registry; without it, an agent that is installed keeps its repository")
	flags.StringVar(&f.priorityClass, "priority-class", "system-cluster-critical", "PriorityClass of its pod, which a cluster without room must still be able to run; empty is none")
	flags.StringVar(&f.volume, "state-volume", "", "where that agent keeps its state and the journal of its Works: claim (a volume of the default StorageClass), the path of a directory on the node that user 65532 may write, or none: then they go with the pod, so an agent that starts while the hub is away leaves everything alone, and one that is retired removes nothing (default: where an agent that is installed has it; else claim if this cluster has a default StorageClass; claim in printed manifests)")
	flags.StringSliceVar(&f.upgrades, "upgrade-images", nil, "repositories of which the hub may have that agent run another image, each a name or, with / at its end, all below it; none or '': the hub upgrades nothing here (default: as an agent that is installed has it; else the repository of --image)")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "namespaces to which that agent is confined, '' for none (default: as an agent that is installed has it; else none)")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "kinds to which that agent is confined, each as RESOURCE or RESOURCE.GROUP, such as configmaps,deployments.apps, '' for none (default: as an agent that is installed has it; else none)")
	flags.StringSliceVar(&f.safeKinds, "safe-kinds", nil, "those of --kinds that run no pods and give no rights: if karmada-system is among --namespaces, only these and some kinds of Kubernetes are accepted, because the agent could change its own Deployment through others; '' for none (default: as an agent that is installed has it; else none)")
	f.pod.add(flags)
}

func (f *installFlags) validate(printing bool) error {
	if !f.wanted && !printing && (len(f.namespaces) > 0 || len(f.kinds) > 0 || len(f.safeKinds) > 0) {
		return errors.New("--namespaces, --kinds and --safe-kinds are for --install and --print manifests; the rights of an agent that runs as a process are those of its kubeconfig")
	}
	for _, name := range append([]string{"image", "priority-class", "state-volume", "upgrade-images"}, podFlagNames()...) {
		if !f.wanted && !printing && f.given(name) {
			return fmt.Errorf("--%s applies to the Deployment that --install makes and --print manifests prints; add one of these flags", name)
		}
	}
	if err := f.pod.read(); err != nil {
		return err
	}
	if f.volume != "" && f.volume != manifest.VolumeClaim && f.volume != manifest.VolumeNone && !strings.HasPrefix(f.volume, "/") {
		return fmt.Errorf("--state-volume is %q; it is %s, %s, or the path of a directory on the node", f.volume, manifest.VolumeClaim, manifest.VolumeNone)
	}
	if f.given("upgrade-images") && len(f.upgrades) == 0 {
		f.upgrades = []string{none} // as '' is none for the other lists
	}
	for _, repository := range f.upgrades {
		if repository == "" || repository != none && plan.Repository(repository) != repository || repository == none && len(f.upgrades) > 1 {
			return fmt.Errorf("--upgrade-images %q is not a repository, such as registry.example/fairlead/agent without a tag; none must stand alone", repository)
		}
	}
	for flag, kinds := range map[string][]string{"kinds": f.kinds, "safe-kinds": f.safeKinds} {
		for _, kind := range kinds {
			if kind == "" || strings.ContainsAny(kind, "/ *") || strings.ToLower(kind) != kind {
				return fmt.Errorf("--%s %q is not of the form RESOURCE or RESOURCE.GROUP, such as deployments.apps", flag, kind)
			}
		}
	}
	return nil
}

func (f *installFlags) options(account string) manifest.Options {
	proxy := f.proxy
	if proxy == nil {
		proxy = proxySettings()
	}
	upgrades := f.upgrades
	switch {
	case len(upgrades) == 0:
		upgrades = []string{plan.Repository(f.image)}
	case upgrades[0] == none:
		upgrades = nil
	}
	return manifest.Options{
		Image: f.image, UpgradeImages: upgrades, Volume: f.volume, Namespaces: f.namespaces, Kinds: f.kinds, SafeKinds: f.safeKinds, Account: account,
		Proxy: proxy, PriorityClass: &f.priorityClass, Pod: f.pod.pod,
	}
}

// refused returns what the chart refuses about the flags. It renders the chart to find out, so that the rules stand
// in one place.
func (f *installFlags) refused(ctx context.Context, installer *install.Installer, account string, operators operatorFlags) ([]registration.Finding, error) {
	o := f.options(account)
	var err error
	if o.Operators, err = operators.wanted(ctx, installer); err != nil {
		return nil, err
	}
	var out []registration.Finding
	if refusal := manifest.Refusal(o); refusal != "" {
		is, advice, _ := strings.Cut(refusal, ": ")
		out = append(out, registration.Finding{Check: "install", Is: is, Advice: cmp.Or(advice, "say it otherwise")})
	}
	if len(o.Pod.PullSecrets) == 0 || !f.given("image-pull-secrets") {
		// Those of an installed agent stay as they are: the kubelet tolerates one that is gone, and joining again must not fail because of it.
		return out, nil
	}
	for _, name := range o.Pod.PullSecrets {
		is, advice, err := installer.PullSecretProblem(ctx, name)
		if err != nil {
			return nil, err
		}
		if is != "" {
			out = append(out, registration.Finding{Check: "pull", Is: is, Advice: advice})
		}
	}
	return out, nil
}

// print prints the manifests of an agent that joins by itself.
func (f *installFlags) print(out io.Writer, join joinFlags, operators operatorFlags, hub string) error {
	// Report mistakes in the arguments here rather than in a pod.
	if _, err := join.parsed(hub); err != nil {
		return err
	}
	if err := join.validateOnRetire(); err != nil {
		return err
	}
	token, err := join.secret()
	if err != nil {
		return err
	}
	o := f.options(join.account)
	who, err := operators.rules()
	if err != nil {
		return err
	}
	o.Operators = operatorOptions(who, false)
	o.Join = &manifest.Join{
		Addresses: strings.Split(hub, ","), Hashes: join.hashes, SkipCA: join.skipCA,
		Cluster: join.clusterName, Token: token, OnRetire: join.onRetire,
	}
	objects, err := manifest.Objects(o)
	if err != nil {
		return err
	}
	text, err := manifest.YAML(objects)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// run joins, hands what the agent gets to the member, and waits until the agent in there is
// Ready.
func (f *installFlags) run(ctx context.Context, installer *install.Installer, options registration.Options, account string, operators operatorFlags, timeout time.Duration, tell func(string)) error {
	o := f.options(account)
	state := currentState(options.StateDir)
	options.Begun = func(ctx context.Context) error { return installer.KeepState(ctx, o, state) }
	credentials, err := join(ctx, options)
	if err != nil {
		return err
	}
	if o.Volume == "" {
		var why string
		if o.Volume, why, err = installer.StateVolume(ctx); err != nil {
			return err
		}
		if why != "" {
			tell(why)
		}
	}
	if o.Operators, err = operators.wanted(ctx, installer); err != nil {
		return err
	}
	files, err := registration.Files(options.StateDir)
	if err != nil {
		return err
	}
	o.JoinHash = registration.JoinHash(files) // a renewal does not change the hash
	heard := credentials.LastHeard(ctx)
	if err := installer.Apply(ctx, o, state, tell); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := credentials.AwaitReady(waiting, heard, tell); err != nil {
		if problem := installer.PodProblem(ctx); problem != "" {
			return fmt.Errorf("%w; in the member, %s", err, problem)
		}
		return err
	}
	tell("The agent runs as Deployment karmada-system/" + manifest.Name)
	return nil
}

// newInstaller returns one for a member.
func newInstaller(member *rest.Config) (*install.Installer, error) { return install.New(member) }
