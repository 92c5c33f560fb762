package podtemplate_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/interpreter/podtemplate"
)

func TestPath(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"Pod": "spec", "PodTemplate": "template.spec", "CronJob": "spec.jobTemplate.spec.template.spec",
		"Deployment": "spec.template.spec", "ReplicationController": "spec.template.spec", "Rollout": "spec.template.spec",
	} {
		NewWithT(t).Expect(strings.Join(podtemplate.Path(kind), ".")).To(Equal(want), kind)
	}
}
