// Package audit has the audit policy of a hub whose operator sets none: policy.yaml.
package audit

import _ "embed"

// Policy is the audit policy, as kube-apiserver reads it.
//
//go:embed policy.yaml
var Policy []byte
