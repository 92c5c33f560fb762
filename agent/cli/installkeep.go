package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/upgrade/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
)

// keep has what is not said be as the agent that is installed was told: the command that joins it again, as a hub prints it, says nothing
// of what its owner confined it to.
func (f *installFlags) keep(ctx context.Context, installer *install.Installer, account *string, tell func(string)) error {
	if err := f.pod.findUser(installer); err != nil {
		return err
	}
	is, err := installer.Settings(ctx, !f.given("kinds"))
	if errors.Is(err, install.ErrKinds) {
		return fmt.Errorf("%w; give --kinds, or --kinds '' for all", err)
	}
	if is == nil || err != nil {
		return err
	}
	if len(is.Other) > 0 {
		return fmt.Errorf("the Deployment %s/%s runs with %s, which this command does not make and would drop: have it join again in the same way that it was installed, "+
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
	f.pod.keep(&is.Pod, f.given)
	if f.proxy = proxySettings(); len(f.proxy) == 0 {
		f.proxy = is.Proxy
	}
	if len(kept) > 0 {
		tell("The installed agent stays confined as it is: " + strings.Join(kept, " ") + "; give the flags to change that")
	}
	return nil
}
