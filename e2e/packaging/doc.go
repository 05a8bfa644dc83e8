// Package packaging holds the tests of what is shipped besides the program: packages,
// image, unit, compose file, alerts. They use the tools that those who install it use:
// dpkg, systemd-analyze, docker-compose, promtool.
//
// No container engine and no running systemd are needed, so images are not built and the
// unit is not started. What stands in for them: the program is built from what the image
// would be built from, and serves, as another user, in a folder that is its root.
package packaging
