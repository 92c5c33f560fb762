package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
)

// printInstalled prints the chart values that reproduce the installed agent, so that Helm can take it over unchanged.
func printInstalled(ctx context.Context, out io.Writer, installer *install.Installer) error {
	is, err := installer.Settings(ctx, true)
	switch {
	case errors.Is(err, install.ErrKinds):
		return fmt.Errorf("%w; set it first with `agent join --install --kinds …`, in the command that the hub prints", err)
	case err != nil:
		return err
	case is == nil:
		return fmt.Errorf("%w: there is no Deployment %s/%s whose values could be printed; make one with --install, or name the kubeconfig of its cluster",
			registration.ErrNotJoined, contract.SystemNamespace, manifest.Name)
	case len(is.Other) > 0:
		return fmt.Errorf("the Deployment %s/%s runs with %s, which `agent join --install` does not make: if Helm made it, `helm get values` has its values; "+
			"if it was changed by hand, undo the change, print the values, and add it to their extraArgs", contract.SystemNamespace, manifest.Name, strings.Join(is.Other, ", "))
	}
	o := manifest.Options{
		Image: is.Image, UpgradeImages: is.UpgradeImages, Namespaces: is.Namespaces, Kinds: is.Kinds, SafeKinds: is.SafeKinds, Account: is.Account, Proxy: is.Proxy,
		PriorityClass: &is.PriorityClass, Pod: is.Pod,
	}
	if o.Volume, _, err = installer.StateVolume(ctx); err != nil {
		return err
	}
	if o.Operators, err = new(operatorFlags).wanted(ctx, installer); err != nil {
		return err
	}
	values := manifest.Values(o)
	delete(values, "createNamespace") // otherwise the namespace would be Helm's, and deleted when the agent is uninstalled
	text, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("encoding the values of the chart: %w", err)
	}
	_, err = out.Write(text)
	return err
}
