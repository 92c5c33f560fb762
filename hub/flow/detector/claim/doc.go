// Package claim reads and writes the labels and annotations on a template and its binding that say which policy has the template.
package claim
