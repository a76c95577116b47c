class Service:
    def __init__(self, service_impl, srv_type, srv_name, callback, callback_group, qos_profile):
        self.__service = service_impl
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.callback = callback
        self.callback_group = callback_group
        self._executor_event = False
        self.responses = []

    @property
    def handle(self):
        return self.__service

    def send_response(self, response, header):
        self.responses.append((header, response))
