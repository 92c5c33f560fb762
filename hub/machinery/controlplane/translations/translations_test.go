package translations

import (
	"testing"
)

func TestKubectlIsToldByTheNameOfTheProgram(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, false},
		{[]string{"bin/controlplane"}, false},
		{[]string{"bin/controlplane", "etcd"}, false},
		{[]string{"bin/controlplane", "--profile", "kubectl"}, false},
		{[]string{"bin/controlplane", "kubectl", "get", "pods"}, true},
		{[]string{"/usr/local/bin/kubectl", "version"}, true},
		{[]string{"kubectl-fairlead"}, true},
	} {
		if got := isKubectl(c.args); got != c.want {
			t.Errorf("isKubectl(%q) is %t", c.args, got)
		}
	}
}
