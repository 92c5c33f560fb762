package override_test

import (
	"fmt"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
	"fairlead.dev/test/builder"
)

// ExampleApply gives a ship its own settings, and every other cluster those of the template.
func ExampleApply() {
	template := builder.MakeConfigMap("shop", "settings", "registry", "registry.example.com").Obj()
	aboard := builder.MakeOverride("shop", "aboard").Select("v1", "ConfigMap", "settings").
		Replace("ship-1", "/data/registry", "mirror.ship.example.com").Obj()

	for _, name := range []string{"shop-berlin", "ship-1"} {
		result, err := override.Apply(template, builder.MakeCluster(name).Obj(), override.Policies{
			Namespaced: []policyv1alpha1.OverridePolicy{*aboard},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(name, result.Object.Object["data"], "by", len(result.Namespaced), "rules")
	}
	// Output:
	// shop-berlin map[registry:registry.example.com] by 0 rules
	// ship-1 map[registry:mirror.ship.example.com] by 1 rules
}
