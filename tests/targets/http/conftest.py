from tests.targets.http.service import new_service, service

__all__ = ["new_service", "service"]
