package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/upgrade/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
)

// none is the value of --upgrade-images by which the hub upgrades nothing.
const none = "none"

// installFlags say whether the agent is to run inside its member, and what it may do there.
type installFlags struct {
	wanted        bool
	image         string
	volume        string
	priorityClass string
	namespaces    []string
	kinds         []string
	safeKinds     []string
	upgrades      []string

	// proxy is that of the agent; nil is that of this process.
	proxy map[string]string
	// given says whether a flag was given.
	given func(name string) bool
}

func (f *installFlags) add(flags *pflag.FlagSet) {
	f.given = flags.Changed
	flags.BoolVar(&f.wanted, "install", false, "run the agent as a Deployment in this cluster")
	flags.StringVar(&f.image, "image", "docker.io/fairlead/agent:"+version.Of().ImageTag, "image of that Deployment, best with the host of its registry; of an agent that is installed the repository stays if nothing is said")
	flags.StringVar(&f.priorityClass, "priority-class", "system-cluster-critical", "PriorityClass of its pod, which a cluster without room must still be able to run; empty is none")
	flags.StringVar(&f.volume, "state-volume", "", "where that agent keeps its state and the journal of its Works: claim (a volume of the default StorageClass), the path of a directory on the node that user 65532 may write, or none: then they go with the pod, so an agent that starts while the hub is away leaves everything alone, and one that is retired removes nothing (default: where an agent that is installed has it; else claim if this cluster has a default StorageClass; claim in printed manifests)")
	flags.StringSliceVar(&f.upgrades, "upgrade-images", nil, "repositories of which the hub may have that agent run another image, each a name or, with / at its end, all below it; none: the hub upgrades nothing here (default: as an agent that is installed has it; else the repository of --image)")
	flags.StringSliceVar(&f.namespaces, "namespaces", nil, "namespaces to which that agent is confined, '' for none (default: as an agent that is installed has it; else none)")
	flags.StringSliceVar(&f.kinds, "kinds", nil, "kinds to which that agent is confined, each as RESOURCE or RESOURCE.GROUP, such as configmaps,deployments.apps, '' for none (default: as an agent that is installed has it; else none)")
	flags.StringSliceVar(&f.safeKinds, "safe-kinds", nil, "of these, kinds of which you know that they run no pods and give no rights: without that, only some kinds of Kubernetes are accepted where karmada-system is among --namespaces, in which the agent could change its own Deployment by others, '' for none (default: as an agent that is installed has it; else none)")
}

func (f *installFlags) validate(printing bool) error {
	if !f.wanted && !printing && (len(f.namespaces) > 0 || len(f.kinds) > 0 || len(f.safeKinds) > 0) {
		return errors.New("--namespaces, --kinds and --safe-kinds are for --install and --print manifests; the rights of an agent that runs as a process are those of its kubeconfig")
	}
	for _, name := range []string{"image", "priority-class", "state-volume", "upgrade-images"} {
		if !f.wanted && !printing && f.given(name) {
			return fmt.Errorf("--%s is of the Deployment that --install makes and --print manifests prints, and there is none", name)
		}
	}
	if f.volume != "" && f.volume != manifest.VolumeClaim && f.volume != manifest.VolumeNone && !strings.HasPrefix(f.volume, "/") {
		return fmt.Errorf("--state-volume is %q; it is %s, %s, or the path of a directory on the node", f.volume, manifest.VolumeClaim, manifest.VolumeNone)
	}
	for _, repository := range f.upgrades {
		if repository == "" || repository != none && plan.Repository(repository) != repository || repository == none && len(f.upgrades) > 1 {
			return fmt.Errorf("--upgrade-images %q is no repository, such as registry.example/fairlead/agent without a tag; none stands alone", repository)
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

// keep has what is not said be as the agent that is installed was told: the command that joins it again, as a hub prints it, says nothing
// of what its owner confined it to.
func (f *installFlags) keep(ctx context.Context, installer *install.Installer, account *string, tell func(string)) error {
	is, err := installer.Settings(ctx, !f.given("kinds"))
	if errors.Is(err, install.ErrKinds) {
		return fmt.Errorf("%w; say it with --kinds, or --kinds '' for all", err)
	}
	if is == nil || err != nil {
		return err
	}
	if len(is.Other) > 0 {
		return fmt.Errorf("the Deployment %s/%s runs with %s, which this command does not make and would drop: have it join again in the way in which it was installed, "+
			"for Helm by `helm upgrade` with the new join.token", contract.SystemNamespace, manifest.Name, strings.Join(is.Other, ", "))
	}
	var kept []string
	note := func(flag, value string) {
		kept = append(kept, "--"+flag+" "+value)
	}
	if !f.given("namespaces") && len(is.Namespaces) > 0 {
		f.namespaces = is.Namespaces
		note("namespaces", strings.Join(is.Namespaces, ","))
	}
	if !f.given("kinds") && len(is.Kinds) > 0 {
		f.kinds = is.Kinds
		note("kinds", strings.Join(is.Kinds, ","))
	}
	if !f.given("safe-kinds") && len(is.SafeKinds) > 0 {
		f.safeKinds = is.SafeKinds
		note("safe-kinds", strings.Join(is.SafeKinds, ","))
	}
	if !f.given("as-service-account") && is.Account != "" {
		*account = is.Account
		note("as-service-account", is.Account)
	}
	if !f.given("image") && is.Image != "" {
		f.image = plan.Repository(is.Image) + ":" + version.Of().ImageTag
	}
	if !f.given("upgrade-images") {
		f.upgrades = is.UpgradeImages
		if len(is.UpgradeImages) == 0 {
			f.upgrades = []string{none}
			note("upgrade-images", none)
		}
	}
	if !f.given("priority-class") {
		f.priorityClass = is.PriorityClass
	}
	if f.proxy = proxySettings(); len(f.proxy) == 0 {
		f.proxy = is.Proxy
	}
	if len(kept) > 0 {
		tell("The agent that is installed stays confined as it is: " + strings.Join(kept, " ") + "; say otherwise to change that")
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
		Proxy: proxy, PriorityClass: &f.priorityClass,
	}
}

// refused says what the chart refuses to make of the flags; nil if nothing. It is found by making it, so that there is one rule.
func (f *installFlags) refused(ctx context.Context, installer *install.Installer, account string, operators operatorFlags) ([]registration.Finding, error) {
	o := f.options(account)
	var err error
	if o.Operators, err = operators.wanted(ctx, installer); err != nil {
		return nil, err
	}
	refusal := manifest.Refusal(o)
	if refusal == "" {
		return nil, nil
	}
	is, advice, _ := strings.Cut(refusal, ": ")
	return []registration.Finding{{Check: "install", Is: is, Advice: cmp.Or(advice, "say it otherwise")}}, nil
}

// print prints an agent that joins by itself.
func (f *installFlags) print(out io.Writer, join joinFlags, operators operatorFlags, hub string) error {
	// What is wrong with the arguments is found here rather than in a pod.
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

// prepare returns a directory for the time of the command, with what an agent that is
// installed already has. What a join as another cluster left that never succeeded is in nobody's way.
func prepare(ctx context.Context, installer *install.Installer, cluster string, tell func(string)) (dir string, remove func(), err error) {
	state, err := installer.State(ctx)
	if err != nil {
		return "", nil, err
	}
	switch other, unfinished := registration.Unfinished(state); {
	case other == "" || other == cluster:
	case unfinished:
		tell(registration.Abandoned(state))
		state = nil
	case cluster != "":
		return "", nil, fmt.Errorf("an agent is installed in this cluster that has joined as cluster %s, not as %s; leave with it first (`agent leave --installed`)", other, cluster)
	}
	return unpack(state)
}

// unpack returns a directory for the time of the command, with what an agent that is installed has.
func unpack(state map[string][]byte) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "fairlead-join-"); err != nil {
		return "", nil, fmt.Errorf("making a directory for the time of this command: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // it is readable for its owner only
	if len(state) == 0 {
		return dir, remove, nil
	}
	if err := registration.CheckFiles(state); err != nil {
		remove()
		return "", nil, fmt.Errorf("%w, in Secret %s/%s of the member, where no agent wrote that; find out who did, then remove the Secret and join again",
			err, contract.SystemNamespace, manifest.Name)
	}
	if err := registration.WriteFiles(dir, state); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
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
	o.JoinHash = registration.JoinHash(files) // that of what was renewed since is the same
	if err := installer.Apply(ctx, o, state, tell); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := credentials.AwaitReady(waiting, tell); err != nil {
		if problem := installer.PodProblem(ctx); problem != "" {
			return fmt.Errorf("%w; in the member, %s", err, problem)
		}
		return err
	}
	tell("The agent runs as Deployment karmada-system/" + manifest.Name)
	return nil
}

// currentState returns what a directory has for the agent to begin with. One that runs may have renewed its certificate since the directory
// was filled from its Secret, and is not to go back to the one before.
func currentState(dir string) install.State {
	return func(kept map[string][]byte) (map[string][]byte, error) {
		files, err := registration.Files(dir)
		if err != nil {
			return nil, err
		}
		return registration.Renewed(files, kept)
	}
}

// newInstaller returns one for a member.
func newInstaller(member *rest.Config) (*install.Installer, error) { return install.New(member) }
