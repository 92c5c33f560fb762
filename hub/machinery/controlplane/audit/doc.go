// Package audit says what the audit log of a hub tells where its operator does not say it: policy.yaml.
package audit

import _ "embed"

// Policy is the audit policy, as kube-apiserver reads it.
//
//go:embed policy.yaml
var Policy []byte
