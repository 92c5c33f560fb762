package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
)

// podFlags say how the pods of an agent in its member are pulled, placed and run.
type podFlags struct {
	pullPolicy                                           string
	pullSecrets, selector, tolerations, requests, limits []string
	runAs                                                string

	// pod is what they say, and what stays as it was.
	pod manifest.Pod
}

// podFlagNames are the names of these flags.
func podFlagNames() []string {
	return []string{"image-pull-policy", "image-pull-secrets", "node-selector", "tolerations", "requests", "limits", "run-as"}
}

func (f *podFlags) add(flags *pflag.FlagSet) {
	const stays = "default: as an agent that is installed has it; else "
	flags.StringVar(&f.pullPolicy, "image-pull-policy", "", "when nodes pull that image: Always, IfNotPresent or Never ("+stays+"IfNotPresent)")
	flags.StringSliceVar(&f.pullSecrets, "image-pull-secrets", nil, "Secrets in karmada-system with which to pull it, as `kubectl create secret docker-registry` makes them, '' for none ("+stays+"none)")
	flags.StringSliceVar(&f.selector, "node-selector", nil, "labels of the nodes on which that agent may run, each KEY=VALUE, such as kubernetes.io/arch=amd64, '' for none ("+stays+"none)")
	flags.StringSliceVar(&f.tolerations, "tolerations", nil, "taints of nodes that its pod tolerates, as `kubectl taint` writes them, each KEY[=VALUE][:EFFECT], or * for all; '' for none ("+stays+"none)")
	flags.StringSliceVar(&f.requests, "requests", nil, "resource requests of its container, such as cpu=10m,memory=64Mi; 0 is none, '' is what the chart has, and a resource that is not named stays ("+stays+"that)")
	flags.StringSliceVar(&f.limits, "limits", nil, "resource limits of its container, such as memory=512Mi; 0 is no limit, '' is what the chart has, and a resource that is not named stays ("+stays+"that)")
	flags.StringVar(&f.runAs, "run-as", manifest.RunAsAuto, "user of its pod: fixed (65532), assigned (by the platform, as OpenShift does), or auto: assigned where this cluster is OpenShift, which --print manifests does not look at")
}

// read understands the flags.
func (f *podFlags) read() error {
	if f.pullPolicy != "" && !slices.Contains([]string{string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)}, f.pullPolicy) {
		return fmt.Errorf("--image-pull-policy is %q; it is %s, %s or %s", f.pullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	}
	if !slices.Contains([]string{manifest.RunAsAuto, manifest.RunAsFixed, manifest.RunAsAssigned}, f.runAs) {
		return fmt.Errorf("--run-as is %q; it is %s, %s or %s", f.runAs, manifest.RunAsAuto, manifest.RunAsFixed, manifest.RunAsAssigned)
	}
	f.pod = manifest.Pod{PullPolicy: f.pullPolicy, PullSecrets: f.pullSecrets}
	if f.runAs != manifest.RunAsAuto {
		f.pod.RunAs = f.runAs
	}
	for _, label := range f.selector {
		key, value, ok := strings.Cut(label, "=")
		if !ok || key == "" {
			return fmt.Errorf("--node-selector %q is not of the form KEY=VALUE, such as kubernetes.io/arch=amd64", label)
		}
		if f.pod.NodeSelector == nil {
			f.pod.NodeSelector = map[string]string{}
		}
		f.pod.NodeSelector[key] = value
	}
	for _, taint := range f.tolerations {
		toleration, err := parseToleration(taint)
		if err != nil {
			return err
		}
		f.pod.Tolerations = append(f.pod.Tolerations, toleration)
	}
	var err error
	if f.pod.Requests, err = parseAmounts("requests", f.requests); err != nil {
		return err
	}
	f.pod.Limits, err = parseAmounts("limits", f.limits)
	return err
}

// parseToleration reads one that tolerates a taint, as kubectl writes taints.
func parseToleration(taint string) (corev1.Toleration, error) {
	if taint == "*" {
		return corev1.Toleration{Operator: corev1.TolerationOpExists}, nil
	}
	what, effect, hasEffect := strings.Cut(taint, ":")
	key, value, hasValue := strings.Cut(what, "=")
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if key == "" || hasEffect && !slices.Contains(effects, corev1.TaintEffect(effect)) {
		return corev1.Toleration{}, fmt.Errorf("--tolerations %q is not of the form KEY[=VALUE][:EFFECT], such as node-role.kubernetes.io/control-plane:NoSchedule", taint)
	}
	out := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if hasValue {
		out.Operator, out.Value = corev1.TolerationOpEqual, value
	}
	return out, nil
}

// parseAmounts reads those of resources.
func parseAmounts(flag string, amounts []string) (corev1.ResourceList, error) {
	var out corev1.ResourceList
	for _, given := range amounts {
		name, text, _ := strings.Cut(given, "=")
		amount, err := resource.ParseQuantity(text)
		if name == "" || err != nil || amount.Sign() < 0 {
			return nil, fmt.Errorf("--%s %q is not of the form RESOURCE=AMOUNT, such as memory=512Mi", flag, given)
		}
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[corev1.ResourceName(name)] = amount
	}
	return out, nil
}

// findUser finds out as whom pods run in a member, where nobody says it.
func (f *podFlags) findUser(installer *install.Installer) error {
	if f.pod.RunAs != "" {
		return nil
	}
	assigned, err := installer.AssignsUsers()
	if assigned {
		f.pod.RunAs = manifest.RunAsAssigned
	}
	return err
}

// keep has what is not said be as it is of an agent that is installed.
func (f *podFlags) keep(is *manifest.Pod, given func(flag string) bool) {
	said := f.pod
	f.pod = *is
	for flag, take := range map[string]func(){
		"image-pull-policy":  func() { f.pod.PullPolicy = said.PullPolicy },
		"image-pull-secrets": func() { f.pod.PullSecrets = said.PullSecrets },
		"node-selector":      func() { f.pod.NodeSelector = said.NodeSelector },
		"tolerations":        func() { f.pod.Tolerations = said.Tolerations },
		"requests":           func() { f.pod.Requests = overlaid(f.pod.Requests, said.Requests) },
		"limits":             func() { f.pod.Limits = overlaid(f.pod.Limits, said.Limits) },
		"run-as":             func() { f.pod.RunAs = said.RunAs },
	} {
		if given(flag) {
			take()
		}
	}
	if f.pod.RunAs == "" {
		f.pod.RunAs = said.RunAs // as this member has it
	}
}

// overlaid returns the amounts of an installed agent with those of a flag over them: a resource that the flag does not name stays as it is. A
// flag without any amount leaves what the chart has.
func overlaid(installed, said corev1.ResourceList) corev1.ResourceList {
	if len(said) == 0 {
		return nil
	}
	out := corev1.ResourceList{}
	maps.Copy(out, installed)
	maps.Copy(out, said)
	return out
}
